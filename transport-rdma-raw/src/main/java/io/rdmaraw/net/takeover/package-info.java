/**
 * How two processes hand over listening ports to each other: messages, and a Unix socket that carries them and
 * descriptors.
 */
package io.rdmaraw.net.takeover;
