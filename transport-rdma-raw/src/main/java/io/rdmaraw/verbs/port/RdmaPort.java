package io.rdmaraw.verbs.port;

/**
 * A port of an RDMA device.
 *
 * @param device name of the device, such as {@code mlx5_0}
 * @param number number of the port, from 1
 */
public record RdmaPort(String device, int number) {
}
