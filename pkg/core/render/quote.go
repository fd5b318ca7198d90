package render

import "strings"

// arguments returns a list of arguments as text in a start script. An item with blanks is several
// arguments, as in the scripts of an operator.
func arguments(list []string) string {
	all := strings.Fields(strings.Join(list, " "))
	for i := range all {
		all[i] = quote(all[i])
	}
	return strings.Join(all, " ")
}

// quote returns any text as one word for sh. A word that needs no quotes stays as it is: the text
// of a script is compared byte by byte.
func quote(text string) string {
	if text != "" && strings.IndexFunc(text, special) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// inText is the same for a word within a text in double quotes.
func inText(word string) string {
	if q := quote(word); q != word {
		return `"` + q + `"`
	}
	return word
}

// special reports whether a character has a meaning in a shell.
func special(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("%+,-./:=@_", r)
}
