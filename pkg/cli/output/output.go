// Package output is the flag -o.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Format is the flag's value: "" is text for people.
type Format string

const asJSON Format = "json"

// Bind adds the flag to a command. What says what the command writes as JSON.
func (o *Format) Bind(cmd *cobra.Command, what string) {
	cmd.Flags().VarP(o, "output", "o", what)
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(asJSON)}, cobra.ShellCompDirectiveNoFileComp))
}

// JSON reports whether the result is for a program.
func (o *Format) JSON() bool { return *o == asJSON }

// String, Set and Type make a Format a flag. So a format that does not exist is an error in the command line, found
// before anything else happens.
func (o *Format) String() string { return string(*o) }

// Set implements pflag.Value.
func (o *Format) Set(s string) error {
	if s != "" && s != string(asJSON) {
		return errors.New("supported values: json")
	}
	*o = Format(s)
	return nil
}

// Type implements pflag.Value.
func (o *Format) Type() string { return "format" }

// Write writes a document.
func Write(out io.Writer, document any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	err := enc.Encode(document)
	if err == nil {
		_, err = out.Write(harmless.JSON(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
