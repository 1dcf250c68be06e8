package io.rdmaraw.ffi;

import java.io.IOException;

/**
 * A non-blocking socket of the kernel, of a type that the JDK lacks or that a loop serves itself. Buffers and
 * socket addresses are in native memory. Not thread-safe, except that another thread may wait on {@link #fd()}.
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

    /** Accepts a connection. Returns null if none is pending. */
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

    /** Returns the descriptor to wait on. */
    public int fd() {
        return fd;
    }

    /** Binds to the {@code struct sockaddr} at an address. Returns 0 or the error number. */
    public int bind(long sockaddr, int lengthBytes) {
        return NativeCall.status(BIND, fd, sockaddr, lengthBytes);
    }

    /** Connects to a peer, or disconnects from it ({@code AF_UNSPEC}). Returns 0 or the error number. */
    public int connect(long sockaddr, int lengthBytes) {
        return NativeCall.status(CONNECT, fd, sockaddr, lengthBytes);
    }

    /**
     * Takes an entry of the error queue; see recvmsg(2). Returns a non-negative number, or the negated error
     * number; -EAGAIN if the queue is empty.
     *
     * @param msghdr a {@code struct msghdr} in native memory
     */
    public int receiveError(long msghdr) {
        return (int) NativeCall.value(RECVMSG, fd, msghdr, MSG_ERRQUEUE);
    }

    /**
     * Receives a datagram with its control messages; see recvmsg(2). Returns its length, or the negated error
     * number; -EAGAIN if none is pending.
     *
     * @param msghdr a {@code struct msghdr} in native memory
     */
    public int receiveMessage(long msghdr) {
        return (int) NativeCall.value(RECVMSG, fd, msghdr, 0);
    }

    /** Like {@link #receiveMessage}; received descriptors are closed on exec. */
    public int receiveMessageWithDescriptors(long msghdr) {
        return (int) NativeCall.value(RECVMSG, fd, msghdr, MSG_CMSG_CLOEXEC);
    }

    /**
     * Writes the socket's local address to native memory. Returns 0 or the error number.
     *
     * @param lengthAddress address of an int with the available room; receives the length
     */
    public int getsockname(long sockaddr, long lengthAddress) {
        return NativeCall.status(GETSOCKNAME, fd, sockaddr, lengthAddress);
    }

    /** Sets an option from a value in native memory. Returns 0 or the negated error number. */
    public int setOption(int level, int option, long value, int lengthBytes) {
        return setOption(fd, level, option, value, lengthBytes);
    }

    /**
     * Sets an option of a socket that was not opened by this class; see
     * {@link #setOption(int, int, long, int)}.
     */
    public static int setOption(int fd, int level, int option, long value, int lengthBytes) {
        return NativeCall.intValue(SETSOCKOPT, fd, level, option, value, lengthBytes);
    }

    /**
     * Reads an option of a socket that was not opened by this class. Returns 0 or the negated error number.
     *
     * @param lengthAddress address of an int with the available room; receives the length
     */
    public static int getOption(int fd, int level, int option, long value, long lengthAddress) {
        return NativeCall.intValue(GETSOCKOPT, fd, level, option, value, lengthAddress);
    }

    /** Starts listening. Returns 0 or the error number. */
    public int listen(int backlog) {
        return NativeCall.status(LISTEN, fd, backlog);
    }

    /**
     * Sends to a peer, or to the connected peer if {@code sockaddr} is 0. Returns the number of bytes, or the
     * negated error number.
     */
    public int send(long buffer, int lengthBytes, long sockaddr, int sockaddrBytes) {
        return (int) NativeCall.value(SENDTO, fd, buffer, lengthBytes, 0, sockaddr, sockaddrBytes);
    }

    /**
     * Sends a message with its control messages; see sendmsg(2). Returns the number of bytes, or the negated
     * error number.
     *
     * @param msghdr a {@code struct msghdr} in native memory
     */
    public int sendMessage(long msghdr) {
        return (int) NativeCall.value(SENDMSG, fd, msghdr, 0);
    }

    /**
     * Receives a datagram. Returns its full length, which may exceed the buffer, or the negated error number;
     * -EAGAIN if none is pending.
     *
     * @param sockaddr      address that receives the sender's address, or 0
     * @param lengthAddress address of an int with the room at {@code sockaddr}, which receives the length; or 0
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
