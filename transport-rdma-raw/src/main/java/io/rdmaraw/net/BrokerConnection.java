package io.rdmaraw.net;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.LockSupport;

/**
 * A connection to rdma-raw-broker, which performs privileged operations for processes without capabilities, as
 * far as its policy permits. softverbs opens devices through a separate connection; this class serves the needs
 * of kernel sockets.
 *
 * <p>{@code broker.h} of softverbs defines the protocol: each request is one message and has one reply. Not
 * thread-safe.
 */
public final class BrokerConnection implements AutoCloseable {
    private static final String ENVIRONMENT_VARIABLE = "SOFTVERBS_BROKER";
    private static final int AF_UNIX = 1;
    private static final int SOCK_SEQPACKET = 5;
    private static final int SOL_SOCKET = 1;
    private static final int SCM_RIGHTS = 1;
    private static final int SO_PEERCRED = 17;
    /** {@code struct ucred}. */
    private static final int UCRED_UID = 4;
    private static final int UCRED_BYTES = 12;
    /** {@code struct sockaddr_un}. */
    private static final int PATH_OFFSET = 2;
    private static final int PATH_BYTES = 108;
    /** {@code struct msghdr}, {@code struct iovec} and {@code struct cmsghdr} with one descriptor. */
    private static final int MSG_IOV = 16;
    private static final int MSG_IOVLEN = 24;
    private static final int MSG_CONTROL = 32;
    private static final int MSG_CONTROLLEN = 40;
    private static final int MSGHDR_BYTES = 56;
    private static final int IOVEC_BYTES = 16;
    private static final int CMSG_LEVEL = 8;
    private static final int CMSG_TYPE = 12;
    private static final int CMSG_DATA = 16;
    private static final int CMSG_BYTES = 24;
    /** {@code struct sv_broker_request} and {@code struct sv_broker_reply}. */
    static final int VERSION = 4;
    static final int REQUEST_BYTES = 320;
    static final int REPLY_BYTES = 368;
    /**
     * Length of the part that the replies of all versions share. A broker of another version sends only this
     * part.
     */
    static final int OLD_REPLY_BYTES = 216;
    static final int CALL_FILTER = 4;
    static final int CALL_SOLICIT = 5;
    private static final int REQUEST_CALL = 4;
    private static final int REQUEST_SEQUENCE = 8;
    private static final int REQUEST_BODY = 16;
    private static final int SOLICIT_FAMILY = REQUEST_BODY + 4;
    private static final int SOLICIT_ADDRESS = REQUEST_BODY + 8;
    private static final int REPLY_ERROR = 4;
    private static final int REPLY_SEQUENCE = 12;
    private static final int REPLY_TEXT = 24;

    private static final int INSTRUCTION_BYTES = 8;
    private static final long REPLY_TIMEOUT_NANOS = 1_000_000_000L;
    private static final long CONNECT_RETRY_NANOS = 1_000_000L;

    private final NativeSocket socket;
    private final FdWaiter waiter;
    private final long reply = Libc.allocateZeroed(REPLY_BYTES);
    private int lastSequence;

    private BrokerConnection(NativeSocket socket) {
        this.socket = socket;
        waiter = new FdWaiter(socket.fd());
    }

    /** Returns whether the environment variable {@code SOFTVERBS_BROKER} is set. */
    public static boolean isConfigured() {
        String path = System.getenv(ENVIRONMENT_VARIABLE);
        return path != null && !path.isEmpty();
    }

    /**
     * Connects to the broker named by {@code SOFTVERBS_BROKER}.
     *
     * @throws IOException if no broker listens there
     */
    public static BrokerConnection connect() throws IOException {
        return connect(System.getenv(ENVIRONMENT_VARIABLE));
    }

    static BrokerConnection connect(String path) throws IOException {
        byte[] name = path.getBytes(StandardCharsets.UTF_8);
        if (name.length >= PATH_BYTES) {
            throw new IOException(ENVIRONMENT_VARIABLE + " is too long for the path of a Unix socket");
        }
        NativeSocket socket = NativeSocket.open(AF_UNIX, SOCK_SEQPACKET, 0);
        long address = Libc.allocateZeroed(PATH_OFFSET + PATH_BYTES);
        try {
            NativeMemory.putShort(address, (short) AF_UNIX);
            NativeMemory.putBytes(address + PATH_OFFSET, name, 0, name.length);
            connect(socket, address, path);
            checkOwner(socket, path);
        } catch (IOException e) {
            socket.close();
            throw e;
        } finally {
            Libc.free(address);
        }
        return new BrokerConnection(socket);
    }

    /** EAGAIN means that the broker's backlog is full, which is temporary. */
    private static void connect(NativeSocket socket, long address, String path) throws IOException {
        long deadline = System.nanoTime() + REPLY_TIMEOUT_NANOS;
        int errno;
        while ((errno = socket.connect(address, PATH_OFFSET + PATH_BYTES)) == Errno.EAGAIN
                && deadline - System.nanoTime() > 0) {
            LockSupport.parkNanos(CONNECT_RETRY_NANOS);
        }
        if (errno != 0) {
            throw new IOException("there is no rdma-raw-broker at '" + path + "', which " + ENVIRONMENT_VARIABLE
                    + " names: " + Errno.describe(errno));
        }
    }

    /** Checks the owner of the listener, to which this class passes listening TCP sockets. */
    private static void checkOwner(NativeSocket socket, String path) throws IOException {
        long credentials = Libc.allocateZeroed(UCRED_BYTES + Integer.BYTES);
        try {
            NativeMemory.putInt(credentials + UCRED_BYTES, UCRED_BYTES);
            int result = NativeSocket.getOption(socket.fd(), SOL_SOCKET, SO_PEERCRED, credentials,
                    credentials + UCRED_BYTES);
            if (result < 0) {
                throw new IOException("cannot read the user of rdma-raw-broker at '" + path + "': "
                        + Errno.describe(-result));
            }
            int uid = NativeMemory.getInt(credentials + UCRED_UID);
            if (uid != 0 && uid != Libc.effectiveUid()) {
                throw new IOException("user " + Integer.toUnsignedString(uid) + " listens at '" + path + "', which "
                        + ENVIRONMENT_VARIABLE + " names: a broker must run as root or as the user of this process");
            }
        } finally {
            Libc.free(credentials);
        }
    }

    /**
     * Attaches a classic BPF program to a TCP socket that is bound to a port. Waits for the reply.
     *
     * @param instructions address of the {@code struct sock_filter} array
     * @param count        number of instructions
     * @throws IOException if the broker refuses; the message contains its reason
     */
    public void attachFilter(int fd, long instructions, int count) throws IOException {
        int lengthBytes = REQUEST_BYTES + count * INSTRUCTION_BYTES;
        long request = newRequest(lengthBytes, CALL_FILTER);
        try {
            NativeMemory.putInt(request + REQUEST_BODY, count);
            NativeMemory.copy(instructions, request + REQUEST_BYTES, (long) count * INSTRUCTION_BYTES);
            sendWith(fd, request, lengthBytes);
        } finally {
            Libc.free(request);
        }
        awaitReply(lastSequence);
    }

    /** Waits for the reply with a sequence number and discards earlier replies. */
    private void awaitReply(int sequence) throws IOException {
        long deadline = System.nanoTime() + REPLY_TIMEOUT_NANOS;
        while (true) {
            if (receiveReply()) {
                if (NativeMemory.getInt(reply + REPLY_SEQUENCE) == sequence) {
                    throwIfRefused();
                    return;
                }
                continue;
            }
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new IOException("rdma-raw-broker has not answered for a second");
            }
            waiter.await(left);
        }
    }

    /**
     * Requests the resolution of a neighbour's MAC address by the kernel. Does not wait for the reply, so an
     * exception may report the failure of an earlier call.
     *
     * @throws IOException if the broker has refused a request, is gone, or is overloaded
     */
    public void solicit(int linkIndex, IpAddress neighbor) throws IOException {
        long request = newRequest(REQUEST_BYTES, CALL_SOLICIT);
        try {
            boolean ipv4 = neighbor.isIpv4();
            NativeMemory.putInt(request + REQUEST_BODY, linkIndex);
            NativeMemory.putInt(request + SOLICIT_FAMILY, ipv4 ? NativeSocket.AF_INET : NativeSocket.AF_INET6);
            if (ipv4) {
                NativeMemory.putInt(request + SOLICIT_ADDRESS, Integer.reverseBytes(neighbor.ipv4()));
            } else {
                NativeMemory.putLong(request + SOLICIT_ADDRESS, Long.reverseBytes(neighbor.high()));
                NativeMemory.putLong(request + SOLICIT_ADDRESS + Long.BYTES, Long.reverseBytes(neighbor.low()));
            }
            check(socket.send(request, REQUEST_BYTES, 0, 0));
        } finally {
            Libc.free(request);
        }
        while (receiveReply()) {
            throwIfRefused();
        }
    }

    private long newRequest(int lengthBytes, int call) {
        long request = Libc.allocateZeroed(lengthBytes);
        NativeMemory.putInt(request, VERSION);
        NativeMemory.putInt(request + REQUEST_CALL, call);
        NativeMemory.putInt(request + REQUEST_SEQUENCE, ++lastSequence);
        return request;
    }

    private void sendWith(int fd, long request, int lengthBytes) throws IOException {
        long message = Libc.allocateZeroed(MSGHDR_BYTES + IOVEC_BYTES + CMSG_BYTES);
        try {
            long part = message + MSGHDR_BYTES;
            long control = part + IOVEC_BYTES;
            NativeMemory.putLong(message + MSG_IOV, part);
            NativeMemory.putLong(message + MSG_IOVLEN, 1);
            NativeMemory.putLong(message + MSG_CONTROL, control);
            NativeMemory.putLong(message + MSG_CONTROLLEN, CMSG_BYTES);
            NativeMemory.putLong(part, request);
            NativeMemory.putLong(part + Long.BYTES, lengthBytes);
            NativeMemory.putLong(control, CMSG_DATA + Integer.BYTES);
            NativeMemory.putInt(control + CMSG_LEVEL, SOL_SOCKET);
            NativeMemory.putInt(control + CMSG_TYPE, SCM_RIGHTS);
            NativeMemory.putInt(control + CMSG_DATA, fd);
            int sent = socket.sendMessage(message);
            if (sent == -Errno.EPERM) {
                // SO_PASSRIGHTS of Linux 6.16 rejects the descriptor.
                throw new IOException("rdma-raw-broker rejects sockets of this user: its policy grants no TCP port");
            }
            check(sent);
        } finally {
            Libc.free(message);
        }
    }

    private static void check(int sent) throws IOException {
        if (sent < 0) {
            throw new IOException("cannot send a request to rdma-raw-broker: " + Errno.describe(-sent));
        }
    }

    /** Receives a reply. Returns false if there is none yet. */
    private boolean receiveReply() throws IOException {
        int received = socket.receive(reply, REPLY_BYTES, 0, 0);
        if (received == -Errno.EAGAIN || received == -Errno.EINTR) {
            return false;
        }
        check(received);
        if (received == 0) {
            throw new IOException("rdma-raw-broker has ended the connection");
        }
        if (NativeMemory.getInt(reply) != VERSION || received < OLD_REPLY_BYTES) {
            throw new IOException("rdma-raw-broker and the library have different versions: use both from one release");
        }
        if (received < REPLY_BYTES) {
            throwIfRefused();
        }
        return true;
    }

    private void throwIfRefused() throws IOException {
        if (NativeMemory.getInt(reply + REPLY_ERROR) != 0) {
            throw new IOException("rdma-raw-broker: " + text());
        }
    }

    private String text() {
        byte[] bytes = new byte[OLD_REPLY_BYTES - REPLY_TEXT];
        NativeMemory.getBytes(reply + REPLY_TEXT, bytes, 0, bytes.length);
        int length = 0;
        while (length < bytes.length && bytes[length] != 0) {
            length++;
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        waiter.close();
        socket.close();
        Libc.free(reply);
    }
}
