package io.rdmaraw.netlink;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;

/** A netlink socket (RFC 3549) in the network namespace of the thread that opens it. Not thread-safe. */
public final class NetlinkSocket implements AutoCloseable {
    /** Links, addresses and routes: {@code <linux/rtnetlink.h>}. */
    public static final int NETLINK_ROUTE = 0;
    /** RDMA devices: {@code <rdma/rdma_netlink.h>}. */
    public static final int NETLINK_RDMA = 20;
    private static final int SOCKADDR_NL_BYTES = 12;
    private static final int SOCKADDR_NL_GROUPS_OFFSET = 8;
    /** The kernel uses dump messages of up to 32 KiB if the buffer is large enough. */
    public static final int BUFFER_BYTES = 64 * 1024;
    private static final int RECEIVE_QUEUE_BYTES = 4 * 1024 * 1024;
    /** Limit for an answer. Normally the kernel answers a request before {@code sendto} returns. */
    private static final long REPLY_TIMEOUT_NANOS = 5_000_000_000L;

    /**
     * Reports that the kernel dropped notifications because the queue was full. The caller must read the state
     * again.
     */
    public static final class OverflowException extends IOException {
        private static final long serialVersionUID = 1;

        OverflowException() {
            super("rtnetlink dropped notifications");
        }
    }

    private final NativeSocket socket;
    private final FdWaiter waiter;
    private final long buffer = Libc.allocateZeroed(BUFFER_BYTES);

    /**
     * Opens a socket.
     *
     * @param family {@link #NETLINK_ROUTE} or {@link #NETLINK_RDMA}
     * @param groups bit mask of notification groups, such as {@code RTMGRP_LINK}
     */
    public NetlinkSocket(int family, int groups) throws IOException {
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

    public int fd() {
        return socket.fd();
    }

    public void send(NetlinkWriter message) throws IOException {
        int sent = socket.send(message.address(), message.finish(), 0, 0);
        if (sent < 0) {
            throw new IOException("a netlink request could not be sent: " + Errno.describe(-sent));
        }
    }

    /**
     * Receives a datagram and positions the reader before its first message. Does not block.
     *
     * @return false if none is pending
     * @throws OverflowException if the kernel has dropped notifications
     */
    public boolean receive(NetlinkReader reader) throws IOException {
        int received = socket.receive(buffer, BUFFER_BYTES, 0, 0);
        if (received == -Errno.EAGAIN || received == -Errno.EINTR) {
            return false;
        }
        if (received == -Errno.ENOBUFS || received > BUFFER_BYTES) {
            throw new OverflowException();
        }
        if (received < 0) {
            throw new IOException("netlink failed: " + Errno.describe(-received));
        }
        reader.reset(buffer, received);
        return true;
    }

    /** Receives the next datagram of an answer. Waits for it, up to a limit. */
    public void awaitDatagram(NetlinkReader reader) throws IOException {
        long deadline = System.nanoTime() + REPLY_TIMEOUT_NANOS;
        while (!receive(reader)) {
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new IOException("netlink did not answer within " + REPLY_TIMEOUT_NANOS / 1_000_000_000L + " s");
            }
            waiter.await(left);
        }
    }

    /** Waits for the answer to a request, positions the reader on it, and returns its type. */
    public int awaitReply(NetlinkReader reader, int sequence) throws IOException {
        while (true) {
            awaitDatagram(reader);
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
