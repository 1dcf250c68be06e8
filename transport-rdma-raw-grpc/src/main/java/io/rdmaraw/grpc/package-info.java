/** Integration of the transport with gRPC. */
package io.rdmaraw.grpc;
