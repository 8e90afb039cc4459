package data

// Has tells whether the file has an entry for a split.
func (c *Config) Has(split string) bool {
	_, found := c.splits[split]
	return found
}

// Images is the number of images of an epoch.
func (l *Loader) Images() int { return len(l.dataset.Items) }
