package yaml

// Flow collections that are parsed directly.

// flow reads a flow collection and moves past it.
func (d *direct) flow() *Node {
	if d.depth >= maxDirectDepth {
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	if d.text[d.at] == '[' {
		return d.flowList()
	}
	return d.flowMap()
}

// between skips white space, line ends and comments. It returns the next byte, 0 at the
// end or for what is left to the library.
func (d *direct) between() byte {
	for d.at < d.end {
		switch c := d.text[d.at]; c {
		case ' ':
			d.at++
		case '\n':
			d.at++
			if d.at < d.end && d.marksDocument() {
				return 0
			}
		case '#':
			if before := d.text[d.at-1]; before != ' ' && before != '\n' {
				return 0
			}
			d.at = d.lineEnd(d.at)
		case '\t':
			return 0
		default:
			return c
		}
	}
	return 0
}

func (d *direct) flowValue() *Node {
	switch d.text[d.at] {
	case '[', '{':
		return d.flow()
	case '"', '\'':
		return d.quoted()
	}
	return d.plain(inFlow)
}

// more skips a comma to the next item, or the closing bracket; ok is false if there is
// neither.
func (d *direct) more(closing byte) (more, ok bool) {
	switch d.between() {
	case ',':
		d.at++
		switch d.between() {
		case 0:
			return false, false
		case closing:
			d.at++
			return false, true
		}
		return true, true
	case closing:
		d.at++
		return false, true
	}
	return false, false
}

// inBrackets reads the items between brackets and moves past the closing one.
func (d *direct) inBrackets(closing byte, item func() bool) bool {
	d.at++
	first := d.between()
	if first == closing {
		d.at++
		return true
	}
	more, ok := true, first != 0
	for more && ok {
		if !item() {
			return false
		}
		more, ok = d.more(closing)
	}
	return ok
}

func (d *direct) flowList() *Node {
	n := d.start()
	n.Kind, n.Style = List, Flow
	mark := len(d.items)
	ok := d.inBrackets(']', func() bool {
		item := d.flowValue()
		d.items = append(d.items, item)
		return item != nil
	})
	if !ok {
		return nil
	}
	n.Items = d.finishedItems(mark)
	n.Span.End = uint32(d.at)
	return n
}

func (d *direct) flowMap() *Node {
	n := d.start()
	n.Kind, n.Style = Map, Flow
	mark := len(d.entries)
	if !d.inBrackets('}', d.flowEntry) {
		return nil
	}
	d.finished(n, mark)
	n.Span.End = uint32(d.at)
	return n
}

// flowEntry reads an entry of a flow map; one without a value is left to the library.
func (d *direct) flowEntry() bool {
	e, ok := d.key(inFlow)
	if !ok {
		return false
	}
	if c := d.between(); c == 0 || c == ',' || c == '}' {
		return false
	}
	if e.Value = d.flowValue(); e.Value == nil {
		return false
	}
	d.entries = append(d.entries, e)
	return true
}
