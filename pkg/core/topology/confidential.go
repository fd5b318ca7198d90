package topology

import "regexp"

// ConfidentialWords is a regular expression for what the name of a value has in it that may be a secret.
// Names of settings, of variables of the environment and of fields are all compared with this
// expression. A word that only one place knows would be shown by the other places.
const ConfidentialWords = `(?i:password|passwd|passphrase|secret|token|credential|private|access[-_]?key)`

var confidential = regexp.MustCompile(ConfidentialWords)

// Confidential reports whether a value may be a secret, as its name says.
func Confidential(name string) bool { return confidential.MatchString(name) }
