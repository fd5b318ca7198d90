package backup

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// list returns the arguments with which rclone lists files in a folder of the bucket, and in folders below it.
func (r Request) list(prefix string, flags ...string) []string {
	return r.rclone("lsjson", prefix, append([]string{"--recursive", "--files-only", "--no-mimetype", "--use-server-modtime"}, flags...))
}

// folderAbove returns the folder whose backup may have the destination as a folder of a store or of checkpoints. It is not ok
// where none can.
func (d Destination) folderAbove() (prefix string, ok bool) {
	folder, last := path.Split(d.Prefix)
	return strings.Trim(folder, "/"), last == checkpoints || last[0] >= '0' && last[0] <= '9'
}

// ListsAbove reports whether the first container of the Job lists the folder above the destination.
func (r Request) ListsAbove() bool {
	_, may := r.folderAbove()
	return r.Does == Lists && may
}

// rclone returns the arguments of rclone, which has no file of settings. It gives up an endpoint that does not answer.
func (r Request) rclone(verb, prefix string, flags []string) []string {
	all := append([]string{verb, "--config=", "--contimeout=15s", "--low-level-retries=3"}, flags...)
	all = append(all, "--s3-env-auth", "--s3-provider="+r.providerOfRclone())
	for _, flag := range [][2]string{{"region", r.Region}, {"endpoint", r.Endpoint}} {
		if flag[1] != "" {
			all = append(all, "--s3-"+flag[0]+"="+flag[1])
		}
	}
	if r.PathStyle != nil {
		all = append(all, "--s3-force-path-style="+strconv.FormatBool(*r.PathStyle))
	}
	// Without the slash at the end, an object with the name of the folder would be meant.
	return append(all, ":s3:"+strings.TrimSuffix(r.Bucket+"/"+prefix, "/")+"/")
}

func included(patterns []string) []string {
	var all []string
	for _, p := range patterns {
		all = append(all, "--include="+p)
	}
	return all
}

// providerOfRclone returns the name that rclone has for a provider of S3. With AWS it puts the bucket into the name of the
// host, which few other storages know.
func (d Destination) providerOfRclone() string {
	host := ""
	if u, err := url.Parse(d.Endpoint); err == nil {
		host = u.Hostname()
	}
	for _, known := range [][2]string{{"amazonaws.com", "AWS"}, {"amazonaws.com.cn", "AWS"}, {"storage.googleapis.com", "GCS"}, {"aliyuncs.com", "Alibaba"}} {
		if host == known[0] || strings.HasSuffix(host, "."+known[0]) {
			return known[1]
		}
	}
	switch {
	case d.Endpoint == "":
		return "AWS"
	case d.Provider == string(v1alpha1.S3StorageProviderTypeCeph):
		return "Ceph"
	}
	return "Other"
}
