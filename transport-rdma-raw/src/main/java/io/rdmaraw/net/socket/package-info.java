/**
 * The kernel's sockets beside the device: they reserve ports and bring what no flow rule can match.
 */
package io.rdmaraw.net.socket;
