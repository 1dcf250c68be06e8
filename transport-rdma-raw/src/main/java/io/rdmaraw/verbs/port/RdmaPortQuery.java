package io.rdmaraw.verbs.port;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.netlink.NetlinkReader;
import io.rdmaraw.netlink.NetlinkSocket;
import io.rdmaraw.netlink.NetlinkWriter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Queries the kernel for RDMA devices and the network interfaces of their ports: {@code RDMA_NL_NLDEV} of
 * {@code
 * <rdma/rdma_netlink.h>}, implemented by {@code drivers/infiniband/core/nldev.c} of Linux. Needs no privilege.
 * Refers to the network namespace of the thread that opens it.
 */
final class RdmaPortQuery implements AutoCloseable {
    private static final int RDMA_NL_NLDEV = 5;
    private static final int RDMA_NLDEV_CMD_GET = 1;
    private static final int RDMA_NLDEV_CMD_PORT_GET = 5;
    private static final int RDMA_NLDEV_ATTR_DEV_INDEX = 1;
    private static final int RDMA_NLDEV_ATTR_DEV_NAME = 2;
    private static final int RDMA_NLDEV_ATTR_PORT_INDEX = 3;
    private static final int RDMA_NLDEV_ATTR_NDEV_NAME = 51;

    private final NetlinkSocket socket = new NetlinkSocket(NetlinkSocket.NETLINK_RDMA, 0);
    private final NetlinkWriter writer = new NetlinkWriter();
    private final NetlinkReader reader = new NetlinkReader();
    private int sequence;

    /**
     * An RDMA device of the kernel.
     *
     * @param index     index of the device
     * @param name      name of the device, such as {@code mlx5_0}
     * @param portCount number of ports; the first one is 1
     */
    record Device(int index, String name, int portCount) {
    }

    /** @throws IOException if the kernel has no RDMA netlink because the module {@code ib_core} is not loaded */
    RdmaPortQuery() throws IOException {
    }

    private static int type(int command) {
        return RDMA_NL_NLDEV << 10 | command;
    }

    /** Returns the devices that are visible in this network namespace. */
    List<Device> devices() throws IOException {
        int requestSequence = ++sequence;
        List<Device> devices = new ArrayList<>();
        socket.send(writer.begin(type(RDMA_NLDEV_CMD_GET), NetlinkWriter.NLM_F_REQUEST | NetlinkWriter.NLM_F_DUMP,
                requestSequence, 0));
        while (true) {
            socket.awaitDatagram(reader);
            while (reader.nextMessage()) {
                if (reader.sequence() != requestSequence) {
                    continue;
                }
                if (reader.type() == NetlinkReader.NLMSG_DONE) {
                    return devices;
                }
                requireNoError();
                devices.add(device());
            }
        }
    }

    private Device device() {
        int index = -1;
        int portCount = 0;
        String name = "";
        for (boolean more = reader.startAttributes(0) && reader.nextAttribute(); more; more = reader.nextAttribute()) {
            switch (reader.attributeType()) {
                case RDMA_NLDEV_ATTR_DEV_INDEX -> index = reader.intValue();
                case RDMA_NLDEV_ATTR_DEV_NAME -> name = reader.textValue();
                // In the description of a device, this attribute is the number of ports.
                case RDMA_NLDEV_ATTR_PORT_INDEX -> portCount = reader.intValue();
                default -> { }
            }
        }
        return new Device(index, name, portCount);
    }

    /**
     * Returns the network interface of a port. Returns null if the kernel reports none: the interface is in
     * another network namespace ({@code fill_port_info}), or the kernel is older than 4.18.
     */
    String interfaceOf(Device device, int port) throws IOException {
        int requestSequence = ++sequence;
        socket.send(writer.begin(type(RDMA_NLDEV_CMD_PORT_GET), NetlinkWriter.NLM_F_REQUEST, requestSequence, 0)
                .number(RDMA_NLDEV_ATTR_DEV_INDEX, device.index()).number(RDMA_NLDEV_ATTR_PORT_INDEX, port));
        // Do not check the type of the answer: nldev_port_get_doit() uses that of RDMA_NLDEV_CMD_GET.
        socket.awaitReply(reader, requestSequence);
        requireNoError();
        for (boolean more = reader.startAttributes(0) && reader.nextAttribute(); more; more = reader.nextAttribute()) {
            if (reader.attributeType() == RDMA_NLDEV_ATTR_NDEV_NAME) {
                return reader.textValue();
            }
        }
        return null;
    }

    private void requireNoError() throws IOException {
        if (reader.type() == NetlinkReader.NLMSG_ERROR) {
            throw new IOException("RDMA netlink rejected a request: " + Errno.describe(reader.errno()));
        }
    }

    @Override
    public void close() {
        socket.close();
        writer.close();
    }
}
