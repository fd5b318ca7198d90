package pd

import (
	"context"
	"errors"
	"net"
	"reflect"
	"testing"
	"time"
)

// TestReporting: each method is reported once, with its name and its error, and otherwise does what
// the method of the client does.
func TestReporting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that every call fails at once
	type call struct {
		name string
		err  error
	}
	var reported []call
	plain := New(Config{Dial: new(net.Dialer).DialContext, URLs: []string{"http://127.0.0.1:1"}})
	c := New(Config{Dial: new(net.Dialer).DialContext, URLs: []string{"http://127.0.0.1:1"}, OnCall: func(name string, took time.Duration, err error) {
		reported = append(reported, call{name, err})
		if took < 0 {
			t.Errorf("%s took %s", name, took)
		}
	}})
	for method := range reflect.TypeFor[Client]().Methods() {
		if method.Name == "Close" {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		in := method.Type
		for i := 1; i < in.NumIn(); i++ {
			if in.IsVariadic() && i == in.NumIn()-1 {
				break
			}
			args = append(args, example(in.In(i)))
		}
		ask := func(c Client) error {
			out := reflect.ValueOf(c).MethodByName(method.Name).Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			return err
		}
		want := ask(plain)
		if want == nil {
			t.Errorf("%s does not fail", method.Name)
			continue
		}
		reported = nil
		got := ask(c)
		if got == nil || got.Error() != want.Error() {
			t.Errorf("%s: error %v, want %v", method.Name, got, want)
		}
		if len(reported) != 1 || reported[0].name != method.Name || !errors.Is(reported[0].err, got) {
			t.Errorf("%s: reported %v", method.Name, reported)
		}
	}
	c.Close()
}

// example is an argument that is not empty.
func example(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("a")
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Map:
		v = reflect.MakeMap(t)
		v.SetMapIndex(reflect.ValueOf("a"), reflect.New(t.Elem()).Elem())
	}
	return v
}
