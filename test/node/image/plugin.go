package image

const (
	// pluginUser is the user without rights of distroless images. As a number, since Kubernetes does not
	// look into an image before it decides whether that is root.
	pluginUser = "65532"
	pluginPath = "usr/local/bin/kubectl-tidb"
)

// Plugin is the image of the plugin, in which nothing else is: it is one static program, which asks for no files, and
// the certificate of the API server comes with the service account. Its user has a name, because the holder of a lease
// has.
func Plugin(reference, program, architecture string) Image {
	layer := &Layer{Entries: []Entry{
		{Path: "etc/", Mode: 0o755}, {Path: "tmp/", Mode: 0o1777},
		{Path: "usr/", Mode: 0o755}, {Path: "usr/local/", Mode: 0o755}, {Path: "usr/local/bin/", Mode: 0o755},
		{Path: "etc/passwd", Mode: 0o644, Content: []byte("kubectl-tidb:x:" + pluginUser + ":" + pluginUser + "::/tmp:/sbin/nologin\n")},
		{Path: "etc/group", Mode: 0o644, Content: []byte("kubectl-tidb:x:" + pluginUser + ":\n")},
		{Path: pluginPath, Mode: 0o755, Source: program},
	}}
	return Image{
		Reference: reference, Layers: []*Layer{layer}, Entrypoint: []string{"/" + pluginPath},
		User: pluginUser + ":" + pluginUser, Architecture: architecture,
	}
}
