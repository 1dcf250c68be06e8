/** The transport for gRPC. */
package io.rdmaraw.grpc;
