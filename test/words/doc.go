// Package words checks the English of names and comments, as far as a program can check English.
package words
