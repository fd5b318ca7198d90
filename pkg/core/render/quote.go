package render

import "strings"

// arguments are a list of arguments in a start script. An item with blanks in it
// is several arguments, as it is in the scripts of an operator.
func arguments(list []string) string {
	all := strings.Fields(strings.Join(list, " "))
	for i := range all {
		all[i] = quote(all[i])
	}
	return strings.Join(all, " ")
}

// quote makes one word for sh of any text. A word that means itself stays as it
// is: the text of a script is compared byte by byte.
func quote(text string) string {
	if text != "" && strings.IndexFunc(text, special) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// inText is the same for a word amid a text in double quotes.
func inText(word string) string {
	if q := quote(word); q != word {
		return `"` + q + `"`
	}
	return word
}

// special reports whether a character may mean something else to a shell.
func special(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("%+,-./:=@_", r)
}
