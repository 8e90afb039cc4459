package data

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-ml/reprise/internal/fuzz/allocation"
)

// The untidy file that users have: comments, an empty path, an empty download.
const untidyConfig = `# A data set
# train/val as 1) dir, 2) file, or 3) list

path: # data set root
train: images/train # 4 images
val: images/val
test: # optional

# Classes
names:
  0: plane
  1: storage tank
  2: 3

# Download script/URL (optional)
download:
`

func TestReadConfigOfUntidyFile(t *testing.T) {
	for _, text := range []string{untidyConfig, "\xef\xbb\xbf" + untidyConfig} {
		directory := t.TempDir()
		config, err := ReadConfig(writeFile(t, directory, "data.yaml", text))
		require.NoError(t, err)
		require.Equal(t, directory, config.Root)
		require.Equal(t, []string{"plane", "storage tank", "3"}, config.Names)
		require.Equal(t, splitEntry{line: 5, paths: []string{"images/train"}}, config.splits["train"])
		require.NotContains(t, config.splits, "test")
	}
}

func TestReadConfigForms(t *testing.T) {
	directory := t.TempDir()
	writeFile(t, directory, "set/keep", "")
	cases := []struct {
		name, text, root string
		names, train     []string
	}{
		{"list of names", "names: [a, b]\nnc: 2\ntrain: x\n", "", []string{"a", "b"}, []string{"x"}},
		{"block list", "names:\n- a\n- b\n", "", []string{"a", "b"}, nil},
		{"one mapped name", "names:\n  0: a\n", "", []string{"a"}, nil},
		{"keys out of order", "names: {1: b, 0: a}\n", "", []string{"a", "b"}, nil},
		{"list of directories", "names: [a]\ntrain: [x, y/z]\n", "", []string{"a"}, []string{"x", "y/z"}},
		{"relative path", "path: set\nnames: [a]\n", "set", []string{"a"}, nil},
		{"absolute path", "path: " + filepath.Join(directory, "set") + "\nnames: [a]\n", "set", []string{"a"}, nil},
		{"only one key", "names: [no]\n", "", []string{"no"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, err := ReadConfig(writeFile(t, directory, "data.yaml", c.text))
			require.NoError(t, err)
			require.Equal(t, filepath.Join(directory, c.root), config.Root)
			require.Equal(t, c.names, config.Names)
			require.Equal(t, c.train, config.splits["train"].paths)
		})
	}
}

func TestReadConfigFaults(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"no names", "train: x\n", "data.yaml: no class names; "},
		{"empty names", "names: []\n", "data.yaml:1: names is empty; "},
		{"names a string", "\nnames: plane\n", "data.yaml:2: names is neither a list nor a mapping; "},
		{"gap in keys", "names:\n  0: a\n  2: c\n", `data.yaml:3: class key "2" where 2 names need the keys 0 to 1 once each; `},
		{"key not a number", "names:\n  a: 0\n", `data.yaml:2: class key "a" where 1 names`},
		{"negative key", "names:\n  0: a\n  -1: c\n", `data.yaml:3: class key "-1" where 2 names`},
		{"nested name", "names: [[a]]\n", "data.yaml:1: a class name is empty or not a string; "},
		{"count differs", "nc: 3\nnames: [a, b]\n", "data.yaml:1: nc is 3 where names has 2; "},
		{"count not a number", "nc: many\nnames: [a]\n", "data.yaml:1: nc is many where names has 1; "},
		{"no such root", "path: nowhere\nnames: [a]\n", "data.yaml:1: path "},
		{"split a mapping", "names: [a]\ntrain: {a: b}\n", "data.yaml:2: train holds something that is not a path; "},
		{"not a mapping", "- a\n- b\n", "data.yaml:1: not a mapping of keys to values; "},
		{"empty", "", "data.yaml: not one yaml document; "},
		{"comment only", "# nothing\n", "data.yaml: not one yaml document; "},
		{"two documents", "names: [a]\n---\nnames: [b]\n", "data.yaml: not one yaml document; "},
		{"syntax", "names: [a\n", "data.yaml:1: sequence end token ']' not found; correct the yaml syntax"},
		{"key twice", "names: [a]\nnc: 1\nnames: [b]\n", `data.yaml:3: mapping key "names" already defined`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadConfig(writeFile(t, t.TempDir(), "data.yaml", c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := ReadConfig(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorContains(t, err, "none.yaml")

	_, err = ReadConfig(writeFile(t, t.TempDir(), "data.yaml", "nc: 3\nnames: [a, b]\nval: {}\npath: nowhere\n"))
	var all *FaultsError
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Faults, 3, "every fault of the file at once")
}

func TestImagesOfSplit(t *testing.T) {
	directory := t.TempDir()
	for _, path := range []string{
		"images/train/b.png", "images/train/a.JPG", "images/train/more/c.jpeg", "images/train/more-1.png", "images/val/d.png", "other/images/e.jpg",
	} {
		writeFile(t, directory, path, "")
	}
	writeFile(t, directory, "images/train/notes.md", "")
	writeFile(t, directory, "lists/val.txt", "../images/val/d.png\r\n\n../images/train/b.png\n")
	cases := []struct {
		name, train string
		want        []string
	}{
		{"directory with subdirectories", "images/train", []string{"images/train/a.JPG", "images/train/b.png", "images/train/more-1.png", "images/train/more/c.jpeg"}},
		{"list of images in order", "lists/val.txt", []string{"images/val/d.png", "images/train/b.png"}},
		{"list of directories in order", "[other/images, images/val]", []string{"other/images/e.jpg", "images/val/d.png"}},
		{"exporter's leading dots", "../images/val", []string{"images/val/d.png"}},
		{"several leading dots", "../../images/val", []string{"images/val/d.png"}},
		{"absolute", filepath.Join(directory, "images/val"), []string{"images/val/d.png"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, err := ReadConfig(writeFile(t, directory, "data.yaml", "names: [a]\ntrain: "+c.train+"\n"))
			require.NoError(t, err)
			images, err := config.Images("train")
			require.NoError(t, err)
			var want []string
			for _, path := range c.want {
				want = append(want, filepath.Join(directory, path))
			}
			require.Equal(t, want, images)
		})
	}
}

func TestImagesFaults(t *testing.T) {
	directory := t.TempDir()
	writeFile(t, directory, "bad/images/a.webp", "")
	writeFile(t, directory, "empty/images/readme.md", "")
	writeFile(t, directory, "list.txt", "a.png\nb.gif\n")
	cases := []struct{ name, yaml, want string }{
		{"no entry", "names: [a]\n", "data.yaml: no entry for train; add train: with a directory of images"},
		{"no such directory", "names: [a]\ntrain: images/none\n", "does not exist; correct the path"},
		{"empty directory", "names: [a]\ntrain: empty/images\n", "data.yaml:2: train has no images; "},
		{"other format", "names: [a]\ntrain: bad/images\n", `a.webp: image format ".webp" is not read; convert the image to JPEG or PNG`},
		{"other format in list", "names: [a]\ntrain: list.txt\n", `list.txt:2: image format ".gif" is not read; `},
		{"a file", "names: [a]\ntrain: bad/images/a.webp\n", "is neither a directory nor a .txt file; "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config, err := ReadConfig(writeFile(t, directory, "data.yaml", c.yaml))
			require.NoError(t, err)
			_, err = config.Images("train")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestLabelPath(t *testing.T) {
	path, err := labelPath("/sets/images/x/images/train/a.b.png")
	require.NoError(t, err)
	require.Equal(t, "/sets/images/x/labels/train/a.b.txt", path)
	path, err = labelPath("images/a.jpg")
	require.NoError(t, err)
	require.Equal(t, "labels/a.txt", path)
	_, err = labelPath("/sets/pictures/images.png")
	require.ErrorContains(t, err, "images")
}

func FuzzReadConfig(f *testing.F) {
	f.Add(untidyConfig)
	f.Add("names: &a [x, *a]\n<<: {nc: 1}\n? [k]\n: v\n")
	f.Add("names: !!str 3\npath: |\n  .\ntrain: [1, 2.5, null, ~]\n")
	f.Fuzz(func(t *testing.T, text string) {
		var config *Config
		var err error
		allocation.AtMost(t, allocation.PerByte, len(text), func() { config, err = parseConfig("data.yaml", []byte(text)) })
		require.True(t, (err == nil) == (config != nil))
		if err == nil {
			require.NotEmpty(t, config.Names)
		}
	})
}
