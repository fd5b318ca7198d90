package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/harmless"
)

// Version is the apiVersion of the objects that reading verbs print. Fields may be added to a
// version; it changes when one is renamed, removed or gets another meaning.
const Version = "kubectl-tidb/v1"

const (
	wide = "wide"
	name = "name"
)

// Objects is the flag -o of a verb that reads, with the formats of kubectl. Without Bind it asks for
// a table.
type Objects struct {
	// About is the kind of which an object has the name, for "-o name"; zero for TidbClusters.
	About   schema.GroupVersionKind
	flags   *genericclioptions.PrintFlags
	columns *get.CustomColumnsPrintFlags
	printer printers.ResourcePrinter // nil for a table
	printed bool                     // a document was written, so that the next one needs a separator
}

// Bind adds the flag, and the flags of templates, to a command.
func (o *Objects) Bind(cmd *cobra.Command) {
	o.flags, o.columns = genericclioptions.NewPrintFlags(""), get.NewCustomColumnsPrintFlags()
	o.flags.JSONYamlPrintFlags.AddFlags(cmd)
	o.flags.TemplatePrinterFlags.AddFlags(cmd)
	cmd.Flags().StringVarP(o.flags.OutputFormat, "output", "o", "", fmt.Sprintf("Output format. One of: (%s).", strings.Join(o.formats(), ", ")))
	for _, hidden := range []string{"show-managed-fields", "allow-missing-template-keys"} {
		_ = cmd.Flags().MarkHidden(hidden) // as the objects have no managed fields
	}
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats(), cobra.ShellCompDirectiveNoFileComp))
}

func (o *Objects) formats() []string {
	all := append([]string{wide}, o.flags.AllowedFormats()...)
	return append(all, o.columns.AllowedFormats()...)
}

// Validate reports a format that does not exist, before anything is read.
func (o *Objects) Validate() (err error) {
	format := *o.flags.OutputFormat
	if o.Table() {
		return nil
	}
	if o.printer, err = o.columns.ToPrinter(format); genericclioptions.IsNoCompatiblePrinterError(err) {
		o.printer, err = o.flags.ToPrinter()
	}
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return exit.Usagef("-o %s: supported formats: %s", format, strings.Join(o.formats(), ", "))
	}
	if err != nil {
		return exit.Usagef("-o %s: %w", format, err)
	}
	return nil
}

// Table reports whether the result is a table for people, as it is without -o.
func (o *Objects) Table() bool {
	if o.flags == nil {
		return true
	}
	template := o.flags.TemplatePrinterFlags.TemplateArgument
	return o.Wide() || *o.flags.OutputFormat == "" && *template == ""
}

// Wide reports whether the table has all its columns.
func (o *Objects) Wide() bool { return o.flags != nil && *o.flags.OutputFormat == wide }

// Print writes an object in the format of -o. With "name" it writes the name of what the object is
// about, which is mostly a TidbCluster, for another kubectl command.
func (o *Objects) Print(out io.Writer, object runtime.Object) error {
	if s := sheetOf(out); s != nil {
		s.add(object)
		return nil
	}
	switch *o.flags.OutputFormat {
	case name:
	case "yaml":
		return o.printYAML(out, object)
	case "json":
		var text bytes.Buffer
		if err := o.printer.PrintObj(object, &text); err != nil {
			return err
		}
		_, err := out.Write(harmless.JSON(text.Bytes()))
		return err
	default:
		return o.printer.PrintObj(object, out)
	}
	if list, ok := object.(*unstructured.UnstructuredList); ok {
		for i := range list.Items {
			if err := o.printName(out, &list.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return o.printName(out, object.(*unstructured.Unstructured))
}

// printYAML writes an object as kubectl's own printer does, which fails where a text has a control character.
func (o *Objects) printYAML(out io.Writer, object runtime.Object) error {
	text, err := harmless.YAML(object)
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if o.printed {
		text = append([]byte("---\n"), text...)
	}
	o.printed = true
	_, err = out.Write(text)
	return err
}

// printName writes the name of what an object is about. An object without a name says why something could not be read.
func (o *Objects) printName(out io.Writer, object *unstructured.Unstructured) error {
	if object.GetName() == "" {
		return nil
	}
	about := &unstructured.Unstructured{}
	about.SetGroupVersionKind(o.About)
	if o.About.Empty() {
		about.SetAPIVersion("pingcap.com/v1alpha1")
		about.SetKind("TidbCluster")
	}
	about.SetName(object.GetName())
	return o.printer.PrintObj(about, out)
}

// Object returns a document as an object of Kubernetes' form, so that kubectl's printers take it.
func Object(kind, namespace, name string, document any) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write the result: %w", err)
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &object.Object); err != nil {
		return nil, fmt.Errorf("write the result: %w", err)
	}
	object.SetAPIVersion(Version)
	object.SetKind(kind)
	if name != "" {
		object.SetName(name)
		object.SetNamespace(namespace)
	}
	return object, nil
}

// List returns objects of one kind as a list.
func List(kind string, items []unstructured.Unstructured) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{}, Items: items}
	list.SetAPIVersion(Version)
	list.SetKind(kind + "List")
	return list
}
