package ruby

import "strings"

// blank returns a text with all but its line ends replaced by spaces.
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

// codeOf returns the Ruby code of an ERB template, each part at its offset, with spaces
// elsewhere.
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
