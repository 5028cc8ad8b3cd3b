package ruby

import "strings"

// codeOf is the Ruby of an ERB template, each part where it stands in the text; all
// else is space.
func codeOf(text string) string {
	code := []byte(strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, text))
	if len(code) != len(text) { // not a byte for a byte
		code = []byte(strings.Repeat(" ", len(text)))
		for i := range text {
			if text[i] == '\n' {
				code[i] = '\n'
			}
		}
	}
	for at := 0; ; {
		begin := strings.Index(text[at:], "<%")
		if begin < 0 {
			return string(code)
		}
		begin += at + 2
		end := strings.Index(text[begin:], "%>")
		if end < 0 {
			return string(code)
		}
		end += begin
		at = end + 2
		part := text[begin:end]
		if strings.HasPrefix(part, "%") || strings.HasPrefix(part, "#") {
			continue
		}
		copy(code[begin:end], strings.TrimSuffix(part, "-"))
		if strings.HasPrefix(part, "=") || strings.HasPrefix(part, "-") {
			code[begin] = ' '
		}
		code[end] = ';'
	}
}
