package ruby

import "strings"

// blank is a text of spaces, in the lines of another.
func blank(text string) []byte {
	out := make([]byte, len(text))
	for i := range out {
		out[i] = ' '
		if text[i] == '\n' {
			out[i] = '\n'
		}
	}
	return out
}

// codeOf is the Ruby of an ERB template, each part where it stands in the text; all
// else is space.
func codeOf(text string) string {
	code := blank(text)
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
