// Package browser opens the pages that the plugin writes in a real browser without a window, by the
// DevTools protocol.
package browser
