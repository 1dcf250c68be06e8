package io.rdmaraw.net.netlink;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;

/** A netlink socket (RFC 3549), of the network namespace of the thread that opens it. */
final class NetlinkSocket implements AutoCloseable {
    /** Links, addresses, routes: {@code <linux/rtnetlink.h>}. */
    static final int NETLINK_ROUTE = 0;
    /** RDMA devices: {@code <rdma/rdma_netlink.h>}. */
    static final int NETLINK_RDMA = 20;
    private static final int SOCKADDR_NL_BYTES = 12;
    private static final int SOCKADDR_NL_GROUPS_OFFSET = 8;
    /** The kernel makes dump messages of up to 32 KiB for those who have the room. */
    static final int BUFFER_BYTES = 64 * 1024;
    private static final int RECEIVE_QUEUE_BYTES = 4 * 1024 * 1024;
    /** The kernel answers a request before {@code sendto} returns; this is for a machine in trouble. */
    private static final long ANSWER_LIMIT_NANOS = 5_000_000_000L;

    private final NativeSocket socket;
    private final FdWaiter waiter;
    private final long buffer = Libc.allocateZeroed(BUFFER_BYTES);

    /**
     * Opens a socket.
     *
     * @param family {@link #NETLINK_ROUTE} or {@link #NETLINK_RDMA}
     * @param groups bits of the notifications wanted, such as {@code RTMGRP_LINK}
     */
    NetlinkSocket(int family, int groups) throws IOException {
        socket = NativeSocket.open(NativeSocket.AF_NETLINK, NativeSocket.SOCK_RAW, family);
        waiter = new FdWaiter(socket.fd());
        NativeMemory.putInt(buffer, RECEIVE_QUEUE_BYTES);
        socket.setOption(NativeSocket.SOL_SOCKET, NativeSocket.SO_RCVBUF, buffer, Integer.BYTES);
        NativeMemory.fill(buffer, SOCKADDR_NL_BYTES, (byte) 0);
        NativeMemory.putShort(buffer, (short) NativeSocket.AF_NETLINK);
        NativeMemory.putInt(buffer + SOCKADDR_NL_GROUPS_OFFSET, groups);
        int errno = socket.bind(buffer, SOCKADDR_NL_BYTES);
        if (errno != 0) {
            close();
            throw new IOException("bind of a netlink socket failed: " + Errno.describe(errno));
        }
    }

    int fd() {
        return socket.fd();
    }

    void send(NetlinkWriter message) throws IOException {
        int sent = socket.send(message.address(), message.finish(), 0, 0);
        if (sent < 0) {
            throw new IOException("a netlink request could not be sent: " + Errno.describe(-sent));
        }
    }

    /**
     * Receives a datagram of messages, which the reader then stands before.
     *
     * @return false when there is none
     * @throws NetlinkOverflowException when the kernel had to drop some
     */
    boolean receive(NetlinkReader reader) throws IOException {
        int received = socket.receive(buffer, BUFFER_BYTES, 0, 0);
        if (received == -Errno.EAGAIN || received == -Errno.EINTR) {
            return false;
        }
        if (received == -Errno.ENOBUFS || received > BUFFER_BYTES) {
            throw new NetlinkOverflowException();
        }
        if (received < 0) {
            throw new IOException("netlink failed: " + Errno.describe(-received));
        }
        reader.reset(buffer, received);
        return true;
    }

    /** Receives the next datagram of an answer, waiting for it. */
    void receiveAnswer(NetlinkReader reader) throws IOException {
        long deadline = System.nanoTime() + ANSWER_LIMIT_NANOS;
        while (!receive(reader)) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new IOException("netlink did not answer within " + ANSWER_LIMIT_NANOS / 1_000_000_000L + " s");
            }
            waiter.await(left);
        }
    }

    /** Has the reader stand on the answer to the request of this number; returns the answer's type. */
    int awaitAnswer(NetlinkReader reader, int sequence) throws IOException {
        while (true) {
            receiveAnswer(reader);
            while (reader.nextMessage()) {
                if (reader.sequence() == sequence) {
                    return reader.type();
                }
            }
        }
    }

    @Override
    public void close() {
        waiter.close();
        socket.close();
        Libc.free(buffer);
    }
}
