/** Kernel sockets used beside the device. They reserve ports and receive packets that no flow rule can match. */
package io.rdmaraw.net.socket;
