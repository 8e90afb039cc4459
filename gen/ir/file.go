package ir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Encode writes a stage as JSON with one tensor, storage or operation per
// line, so that a small change of a definition is a small diff.
func Encode(s *Stage) ([]byte, error) {
	var out bytes.Buffer
	head, err := json.Marshal(struct {
		Format       int      `json:"format"`
		Name         string   `json:"name"`
		Digest       string   `json:"digest,omitempty"`
		Multiple     Multiple `json:"multiple"`
		Unrecordable string   `json:"unrecordable,omitempty"`
		Pos          Pos      `json:"pos,omitzero"`
	}{s.Format, s.Name, s.Digest, s.Multiple, s.Unrecordable, s.Pos})
	if err != nil {
		return nil, err
	}
	out.Write(head[:len(head)-1])
	writers := []func() error{
		func() error { return list(&out, "inputs", s.Inputs) },
		func() error { return list(&out, "outputs", s.Outputs) },
		func() error { return list(&out, "parameters", s.Parameters) },
		func() error { return list(&out, "buffers", s.Buffers) },
		func() error { return list(&out, "forward", s.Forward) },
		func() error { return backward(&out, s.Backward) },
		func() error { return list(&out, "tensors", s.Tensors) },
		func() error { return list(&out, "storages", s.Storages) },
	}
	for _, write := range writers {
		out.WriteString(",\n")
		if err := write(); err != nil {
			return nil, err
		}
	}
	out.WriteString("}\n")
	return out.Bytes(), nil
}

func list[E any](out *bytes.Buffer, name string, items []E) error {
	fmt.Fprintf(out, "%q:[", name)
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		line, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("%s %d: %w", name, i, err)
		}
		out.WriteByte('\n')
		out.Write(line)
	}
	out.WriteByte(']')
	return nil
}

func backward(out *bytes.Buffer, programs []Backward) error {
	out.WriteString(`"backward":[`)
	for i, p := range programs {
		if i > 0 {
			out.WriteByte(',')
		}
		head, err := json.Marshal(struct {
			Present    []string `json:"present"`
			Parameters []string `json:"parameters"`
			Inputs     []string `json:"inputs,omitempty"`
		}{p.Present, p.Parameters, p.Inputs})
		if err != nil {
			return err
		}
		out.WriteByte('\n')
		out.Write(head[:len(head)-1])
		out.WriteString(",\n")
		if err := list(out, "ops", p.Ops); err != nil {
			return err
		}
		out.WriteByte('}')
	}
	out.WriteByte(']')
	return nil
}

// Decode reads what Encode wrote and checks that every reference points at
// something that exists, so that later code can index without checks.
func Decode(data []byte) (*Stage, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	s := new(Stage)
	if err := decoder.Decode(s); err != nil {
		var head struct { // another version has other fields, too
			Format int
			Name   string
		}
		if json.Unmarshal(data, &head) == nil && head.Format != FormatVersion {
			return nil, otherFormat(head.Name, head.Format)
		}
		return nil, fmt.Errorf("plan: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("plan of stage %s: more text after its end", s.Name)
	}
	if s.Format != FormatVersion {
		return nil, otherFormat(s.Name, s.Format)
	}
	if err := s.checkReferences(); err != nil {
		return nil, err
	}
	return s, nil
}

func otherFormat(name string, format int) error {
	return fmt.Errorf("plan of stage %s has format %d, this version reads %d; run go generate again", name, format, FormatVersion)
}

// Digest is the SHA-256 of the encoded stage without its digest, in hex.
func Digest(s *Stage) (string, error) {
	plain := *s
	plain.Digest = ""
	data, err := Encode(&plain)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
