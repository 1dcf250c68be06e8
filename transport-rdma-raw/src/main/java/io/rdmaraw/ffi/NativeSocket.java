package io.rdmaraw.ffi;

import java.io.IOException;

/**
 * A socket of the kernel: of a kind that the JDK does not have, or one that a loop serves by itself. Buffers and socket
 * addresses are native memory. Does not block. Not thread-safe, except that {@link #fd()} may be waited on by another
 * thread.
 */
public final class NativeSocket implements AutoCloseable {
    public static final int AF_UNSPEC = 0;
    public static final int AF_UNIX = 1;
    public static final int AF_INET = 2;
    public static final int AF_INET6 = 10;
    public static final int AF_NETLINK = 16;
    public static final int SOCK_STREAM = 1;
    public static final int SOCK_DGRAM = 2;
    public static final int SOCK_RAW = 3;
    public static final int SOCK_SEQPACKET = 5;
    public static final int SOL_SOCKET = 1;
    public static final int SO_REUSEADDR = 2;
    public static final int SO_RCVBUF = 8;
    private static final int SOCK_NONBLOCK = 0x800;
    private static final int SOCK_CLOEXEC = 0x80000;
    private static final int MSG_TRUNC = 0x20;
    private static final int MSG_CMSG_CLOEXEC = 0x4000_0000;
    private static final int MSG_ERRQUEUE = 0x2000;

    private static final long SOCKET = Libc.address("socket");
    private static final long BIND = Libc.address("bind");
    private static final long CONNECT = Libc.address("connect");
    private static final long RECVMSG = Libc.address("recvmsg");
    private static final long SENDMSG = Libc.address("sendmsg");
    private static final long SENDTO = Libc.address("sendto");
    private static final long RECVFROM = Libc.address("recvfrom");
    private static final long SETSOCKOPT = Libc.address("setsockopt");
    private static final long GETSOCKOPT = Libc.address("getsockopt");
    private static final long LISTEN = Libc.address("listen");
    private static final long ACCEPT4 = Libc.address("accept4");
    private static final long GETSOCKNAME = Libc.address("getsockname");

    private final int fd;
    private boolean closed;

    private NativeSocket(int fd) {
        this.fd = fd;
    }

    /**
     * Opens a socket.
     *
     * @throws IOException with the reason, for example that raw sockets need CAP_NET_RAW
     */
    public static NativeSocket open(int domain, int type, int protocol) throws IOException {
        int fd = NativeCall.intValue(SOCKET, domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
        if (fd == -Errno.EPERM) {
            throw new IOException("a raw socket could not be opened: EPERM; run with CAP_NET_RAW");
        }
        if (fd < 0) {
            throw new IOException("socket failed: " + Errno.describe(-fd));
        }
        return new NativeSocket(fd);
    }

    /** Accepts a connection; returns null when none waits. */
    public NativeSocket accept() throws IOException {
        int accepted = NativeCall.intValue(ACCEPT4, fd, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted == -Errno.EAGAIN || accepted == -Errno.EINTR || accepted == -Errno.ECONNABORTED) {
            return null;
        }
        if (accepted < 0) {
            throw new IOException("accept failed: " + Errno.describe(-accepted));
        }
        return new NativeSocket(accepted);
    }

    /** Returns the descriptor, to wait on. */
    public int fd() {
        return fd;
    }

    /** Binds to the {@code struct sockaddr} at an address; returns 0 or the error number. */
    public int bind(long sockaddr, int lengthBytes) {
        return NativeCall.status(BIND, fd, sockaddr, lengthBytes);
    }

    /** Connects to a peer, or unties the socket from it ({@code AF_UNSPEC}); returns 0 or the error number. */
    public int connect(long sockaddr, int lengthBytes) {
        return NativeCall.status(CONNECT, fd, sockaddr, lengthBytes);
    }

    /**
     * Takes an entry of the socket's error queue, see recvmsg(2); returns 0 or more, or the negated error number:
     * -EAGAIN when there is none.
     *
     * @param msghdr a {@code struct msghdr} in native memory
     */
    public int receiveError(long msghdr) {
        return (int) NativeCall.value(RECVMSG, fd, msghdr, MSG_ERRQUEUE);
    }

    /**
     * Receives a datagram with its control messages, see recvmsg(2); returns its length or the negated error
     * number: -EAGAIN when there is none.
     *
     * @param msghdr a {@code struct msghdr} in native memory
     */
    public int receiveMessage(long msghdr) {
        return (int) NativeCall.value(RECVMSG, fd, msghdr, 0);
    }

    /** As {@link #receiveMessage}; descriptors that come with the message are not for programs that are executed. */
    public int receiveDescriptors(long msghdr) {
        return (int) NativeCall.value(RECVMSG, fd, msghdr, MSG_CMSG_CLOEXEC);
    }

    /**
     * Writes the socket's own address to native memory.
     *
     * @param lengthAddress where an int holds the room, and then the length
     */
    public int getsockname(long sockaddr, long lengthAddress) {
        return NativeCall.status(GETSOCKNAME, fd, sockaddr, lengthAddress);
    }

    /** Sets an option whose value lies in native memory; returns 0 or the negated error number. */
    public int setOption(int level, int option, long value, int lengthBytes) {
        return setOption(fd, level, option, value, lengthBytes);
    }

    /** As {@link #setOption(int, int, long, int)}, of a socket that this class has not opened. */
    public static int setOption(int fd, int level, int option, long value, int lengthBytes) {
        return NativeCall.intValue(SETSOCKOPT, fd, level, option, value, lengthBytes);
    }

    /**
     * Reads an option of a socket that this class has not opened; returns 0 or the negated error number.
     *
     * @param lengthAddress where an int holds the room for the value, and then its length
     */
    public static int getOption(int fd, int level, int option, long value, long lengthAddress) {
        return NativeCall.intValue(GETSOCKOPT, fd, level, option, value, lengthAddress);
    }

    /** Listens; returns 0 or the error number. */
    public int listen(int backlog) {
        return NativeCall.status(LISTEN, fd, backlog);
    }

    /** Sends to a peer ({@code sockaddr} 0: none); returns the bytes sent or the negated error number. */
    public int send(long buffer, int lengthBytes, long sockaddr, int sockaddrBytes) {
        return (int) NativeCall.value(SENDTO, fd, buffer, lengthBytes, 0, sockaddr, sockaddrBytes);
    }

    /**
     * Sends a message with its control messages, see sendmsg(2); returns the bytes sent or the negated error number.
     *
     * @param msghdr a {@code struct msghdr} in native memory
     */
    public int sendMessage(long msghdr) {
        return (int) NativeCall.value(SENDMSG, fd, msghdr, 0);
    }

    /**
     * Receives a datagram; returns its whole length, which may be more than the buffer has, or the negated error
     * number: -EAGAIN when there is none.
     *
     * @param sockaddr where the sender's address goes, or 0
     * @param lengthAddress where an int holds the room for it, and then its length; or 0
     */
    public int receive(long buffer, int capacityBytes, long sockaddr, long lengthAddress) {
        return (int) NativeCall.value(RECVFROM, fd, buffer, capacityBytes, MSG_TRUNC, sockaddr, lengthAddress);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            Libc.close(fd);
        }
    }
}
