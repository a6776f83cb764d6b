// Package webhooks takes messages to receivers as Standard Webhooks over HTTPS: it signs each try,
// posts it, and says in a few words how it went.
//
// Receivers are strangers. Their addresses come from tenants, so nothing is sent to an address of
// the network that this process runs in, whatever a name resolves to; redirects are not followed; an
// answer is read only so far as is needed to use the connection again, and never kept.
package webhooks
