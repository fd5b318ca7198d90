package factory

import (
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig returns the kubeconfig that is in use, made of all its files.
func (f *Factory) Kubeconfig() (clientcmdapi.Config, error) {
	raw, err := f.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return clientcmdapi.Config{}, f.unusable(err)
	}
	return raw, nil
}

// In returns a factory of the same command line for another context of the kubeconfig. The other factory shares no
// client with this one, and has no spinner. The streams end in those of this factory, which clean what is written. A user
// of the command line is left out, because credentials of one API server may not be sent to another.
func (f *Factory) In(context string, streams genericiooptions.IOStreams) *Factory {
	other := New(streams, f.Env, f.Version)
	other.Streams, other.Quiet = streams, true
	other.Args, other.Connect, other.headers, other.dial = f.Args, f.Connect, f.headers, f.dial
	to, from := other.Flags, f.Flags
	to.KubeConfig, to.CacheDir, to.Namespace, to.Insecure = from.KubeConfig, from.CacheDir, from.Namespace, from.Insecure
	to.Impersonate, to.ImpersonateUID = from.Impersonate, from.ImpersonateUID
	to.ImpersonateGroup, to.ImpersonateUserExtra = from.ImpersonateGroup, from.ImpersonateUserExtra
	to.Timeout, to.DisableCompression = from.Timeout, from.DisableCompression
	*to.Context = context
	return other
}

// Beside returns a factory of the same command line and the same context, for one of several runs at the same time. It
// shares the clients of this one, and has no spinner.
func (f *Factory) Beside(streams genericiooptions.IOStreams) *Factory {
	other := *f
	other.Streams, other.Quiet = streams, true
	return &other
}

// AnswerWithin limits the time of each request, unless the command line does with --request-timeout. It returns the
// limit that counts. It is called before the first request.
func (f *Factory) AnswerWithin(limit time.Duration) time.Duration {
	f.limit = limit
	if given, err := clientcmd.ParseTimeout(*f.Flags.Timeout); err == nil && given > 0 {
		return given
	}
	return limit
}

// Answered reports whether the API server has answered a request. A program that gets credentials runs before the first
// request, and no limit of requests ends the program.
func (f *Factory) Answered() bool { return f.answered.Load() }
