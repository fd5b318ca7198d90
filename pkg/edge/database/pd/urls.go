package pd

import (
	"net/url"
	"strings"
)

// address returns the URL of a member as it may be put before a path. It returns false for a URL with more than a
// scheme, a host and a port. Members report their URLs themselves. A path or a query of such a URL would come before
// ours, so that a request would ask for anything that the member wants.
func address(reported string) (string, bool) {
	u, err := url.Parse(reported)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host}
	if rest := strings.TrimPrefix(reported, bare.String()); rest != "" && rest != "/" {
		return "", false
	}
	return bare.String(), true
}

// addresses returns the URLs that are addresses.
func addresses(reported []string) []string {
	var all []string
	for _, r := range reported {
		if a, ok := address(r); ok {
			all = append(all, a)
		}
	}
	return all
}
