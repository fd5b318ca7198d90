package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// credentials are what requests have to be signed with. The library looks at no signature.
type credentials struct{ access, secret string }

const algorithm = "AWS4-HMAC-SHA256"

// required answers a request with another signature as S3 does. The content of a request is not compared with the sum
// that is signed.
func (c credentials) required(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		switch given := parseAuthorization(request.Header.Get("Authorization")); {
		case given.signature == "":
			refuse(out, "AccessDenied", "the request is not signed with version 4 in its header")
		case given.access != c.access:
			refuse(out, "InvalidAccessKeyId", "there is no such access key")
		case !hmac.Equal([]byte(given.signature), []byte(c.sign(request, given))):
			refuse(out, "SignatureDoesNotMatch", "the request is signed with another secret key")
		default:
			next.ServeHTTP(out, request)
		}
	})
}

func refuse(out http.ResponseWriter, code, message string) {
	out.Header().Set("Content-Type", "application/xml")
	out.WriteHeader(http.StatusForbidden)
	_ = xml.NewEncoder(out).Encode(struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}{Code: code, Message: message})
}

// authorization is what the header of a signed request says.
type authorization struct {
	access, date, region, service string
	headers                       []string
	signature                     string
}

func parseAuthorization(header string) authorization {
	parts, found := strings.CutPrefix(header, algorithm+" ")
	if !found {
		return authorization{}
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(parts, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 {
		return authorization{}
	}
	return authorization{
		access: scope[0], date: scope[1], region: scope[2], service: scope[3],
		headers: strings.Split(fields["SignedHeaders"], ";"), signature: fields["Signature"],
	}
}

// sign returns the signature that a request has with these credentials.
func (c credentials) sign(request *http.Request, given authorization) string {
	scope := strings.Join([]string{given.date, given.region, given.service, "aws4_request"}, "/")
	canonical := sha256.Sum256([]byte(canonicalForm(request, given.headers)))
	text := strings.Join([]string{algorithm, request.Header.Get("X-Amz-Date"), scope, hex.EncodeToString(canonical[:])}, "\n")
	key := []byte("AWS4" + c.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyedSum(key, part)
	}
	return hex.EncodeToString(keyedSum(key, text))
}

func keyedSum(key []byte, text string) []byte {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(text))
	return sum.Sum(nil)
}

// canonicalForm is the form of a request that is signed.
func canonicalForm(request *http.Request, headers []string) string {
	path, _, _ := strings.Cut(request.RequestURI, "?")
	lines := []string{request.Method, path, canonicalQuery(request.URL.Query())}
	for _, name := range headers {
		value := strings.Join(request.Header.Values(name), ",")
		switch name {
		case "host":
			value = request.Host
		case "content-length":
			value = fmt.Sprint(request.ContentLength)
		}
		lines = append(lines, name+":"+strings.Join(strings.Fields(value), " "))
	}
	lines = append(lines, "", strings.Join(headers, ";"), request.Header.Get("X-Amz-Content-Sha256"))
	return strings.Join(lines, "\n")
}

func canonicalQuery(query url.Values) string {
	var parts []string
	for name, values := range query {
		for _, value := range values {
			parts = append(parts, escape(name)+"="+escape(value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
