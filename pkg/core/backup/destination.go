package backup

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// Destination is where a backup is written: a prefix in a bucket of S3, or of a storage that is compatible with S3.
type Destination struct {
	Bucket, Prefix string
	// The parameters of the URL, "" for those that it does not have.
	Endpoint, Region, Provider, StorageClass, SSE, ACL string
	// PathStyle is whether the bucket is part of the path of requests, nil where the URL does not say so.
	PathStyle *bool
}

// DestinationError says why a URL is no destination. It has nothing of the URL behind the path, where somebody may have
// given a password.
type DestinationError struct {
	At      string // the URL without its parameters
	Problem string
}

func (e *DestinationError) Error() string { return e.At + " " + e.Problem }

// secrets are parameters with which BR takes credentials in a URL. A URL is shown and stored, so they are refused.
var secrets = []string{"access-key", "secret-access-key", "session-token", "account-key", "sas-token", "credentials-file"}

// bucketName is what the name of a bucket consists of. No bucket at all is refused with words of its own.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)

// ParseDestination reads the URL of a destination, such as s3://bucket/prefix?endpoint=http://host:9000.
func ParseDestination(text string) (Destination, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Destination{}, &DestinationError{At: "the URL", Problem: "cannot be read"}
	}
	at := u.Scheme + "://" + u.Host + u.Path
	refuse := func(format string, args ...any) (Destination, error) {
		return Destination{}, &DestinationError{At: at, Problem: fmt.Sprintf(format, args...)}
	}
	d := Destination{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	switch {
	case u.Scheme == "":
		return Destination{}, &DestinationError{At: "a destination", Problem: "begins with s3://"}
	case u.Scheme != "s3":
		return refuse("is not of a kind that is known: only s3:// is")
	case u.User != nil:
		return Destination{}, &DestinationError{At: "the URL", Problem: "has credentials, which others could read: put them into a Secret"}
	case u.Host == "":
		return refuse("has no bucket: s3://BUCKET/PREFIX")
	case d.Prefix == "":
		return refuse("has no prefix: a backup needs one of its own, s3://BUCKET/PREFIX")
	case u.EscapedPath() != u.Path || !bucketName.MatchString(u.Host):
		// BR reads what is escaped as something else, such as the beginning of parameters.
		return Destination{}, &DestinationError{At: "the URL", Problem: "has characters that are not plain: " +
			"a bucket has letters, digits and . _ -, and a prefix has no characters that a URL escapes"}
	case u.Fragment != "":
		return refuse("has a fragment, which no object has")
	}
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refuse("has parameters that cannot be read")
	}
	seen := map[string]bool{}
	for name, values := range parameters {
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if seen[name] || len(values) > 1 {
			return refuse("has parameter %s twice", name)
		}
		seen[name] = true
		if problem := d.set(name, values[0]); problem != "" {
			return refuse("%s", problem)
		}
	}
	return d, nil
}

// set sets a parameter of the URL, and returns what is wrong with it.
func (d *Destination) set(name, value string) (problem string) {
	fields := map[string]*string{
		"endpoint": &d.Endpoint, "region": &d.Region, "provider": &d.Provider, "storage-class": &d.StorageClass, "sse": &d.SSE, "acl": &d.ACL,
	}
	field, known := fields[name]
	switch {
	case slices.Contains(secrets, name):
		return "has credentials in parameter " + name + ", which others could read: put them into a Secret"
	case name == "force-path-style":
		style, err := strconv.ParseBool(value)
		if err != nil {
			return "has a parameter force-path-style that is neither true nor false"
		}
		d.PathStyle = &style
		return ""
	case !known:
		return fmt.Sprintf("has an unknown parameter %q: there are endpoint, region, provider, force-path-style, storage-class, sse and acl", name)
	}
	*field = value
	if name != "endpoint" {
		return ""
	}
	endpoint, err := url.Parse(value)
	switch {
	case err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https":
		return "has an endpoint without http:// or https:// and a host"
	case endpoint.User != nil || endpoint.RawQuery != "":
		return "has an endpoint with more than a host and a path"
	}
	return ""
}

// Path names the destination as status.backupPath of a Backup does.
func (d Destination) Path() string { return "s3://" + d.Bucket + "/" + d.Prefix }

// URL returns the destination in one form, so that two of them can be compared.
func (d Destination) URL() string {
	parameters := url.Values{}
	for name, value := range map[string]string{
		"endpoint": d.Endpoint, "region": d.Region, "provider": d.Provider, "storage-class": d.StorageClass, "sse": d.SSE, "acl": d.ACL,
	} {
		if value != "" {
			parameters.Set(name, value)
		}
	}
	if d.PathStyle != nil {
		parameters.Set("force-path-style", strconv.FormatBool(*d.PathStyle))
	}
	if len(parameters) == 0 {
		return d.Path()
	}
	return d.Path() + "?" + parameters.Encode()
}

// flags returns the flags of BR that name the destination. Releases of 2020 and of today have them all.
func (d Destination) flags() []string {
	storage := d.Path()
	if d.PathStyle != nil {
		storage += "?force-path-style=" + strconv.FormatBool(*d.PathStyle)
	}
	all := []string{"--storage=" + storage}
	for _, flag := range [][2]string{
		{"region", d.Region}, {"provider", d.Provider}, {"endpoint", d.Endpoint}, {"sse", d.SSE}, {"acl", d.ACL}, {"storage-class", d.StorageClass},
	} {
		if flag[1] != "" {
			all = append(all, "--s3."+flag[0]+"="+flag[1])
		}
	}
	return all
}

// storage returns the destination as the spec of a Backup has it.
func (d Destination) storage(secret string) v1alpha1.StorageProvider {
	return v1alpha1.StorageProvider{S3: &v1alpha1.S3StorageProvider{
		Provider: v1alpha1.S3StorageProviderType(d.Provider), Region: d.Region, Bucket: d.Bucket, Prefix: d.Prefix, Endpoint: d.Endpoint,
		StorageClass: d.StorageClass, Acl: d.ACL, SSE: d.SSE, SecretName: secret, ForcePathStyle: d.PathStyle,
	}}
}
