package output

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Sheet keeps what a command prints, where several commands of a kind make one output. Text for people is kept as it
// is. Documents are kept as objects, so that they can be printed as one list.
type Sheet struct {
	bytes.Buffer
	Objects []unstructured.Unstructured
}

// Paper returns the sheet as an output with the width of another one.
func (s *Sheet) Paper(like io.Writer) io.Writer {
	return report.Paper{Writer: s, Columns: report.Width(like)}
}

// Empty reports whether nothing was printed.
func (s *Sheet) Empty() bool { return s.Len() == 0 && len(s.Objects) == 0 }

// sheetOf returns the sheet that an output is; nil where it is none.
func sheetOf(out io.Writer) *Sheet {
	if p, is := out.(report.Paper); is {
		out = p.Writer
	}
	s, _ := out.(*Sheet)
	return s
}

// add keeps an object, and of a list its items.
func (s *Sheet) add(object runtime.Object) {
	switch o := object.(type) {
	case *unstructured.UnstructuredList:
		s.Objects = append(s.Objects, o.Items...)
	case *unstructured.Unstructured:
		s.Objects = append(s.Objects, *o)
	}
}
