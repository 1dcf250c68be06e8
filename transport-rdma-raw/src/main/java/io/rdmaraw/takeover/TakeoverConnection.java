package io.rdmaraw.takeover;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.EOFException;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A connection between the two processes of a takeover, which belong to the same user. One thread receives; any thread
 * sends. The end of a process ends its connections. The reverse does not hold: use {@link #isServed} to check whether
 * the process still runs.
 */
public final class TakeoverConnection implements AutoCloseable {
    private static final int SCM_RIGHTS = 1;
    /** The other process reads whenever it runs, so a longer wait means that it is stopped. */
    private static final long SEND_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long ROOM_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    /** Layouts of {@code struct msghdr}, {@code struct iovec} and {@code struct cmsghdr}. */
    private static final int MSG_IOV = 16;
    private static final int MSG_IOVLEN = 24;
    private static final int MSG_CONTROL = 32;
    private static final int MSG_CONTROLLEN = 40;
    private static final int MSG_FLAGS = 48;
    private static final int MSGHDR_BYTES = 56;
    private static final int MSG_TRUNC = 0x20;
    private static final int MSG_CTRUNC = 0x8;
    private static final int IOVEC_BYTES = 16;
    private static final int CMSG_LEVEL = 8;
    private static final int CMSG_TYPE = 12;
    private static final int CMSG_DATA = 16;
    private static final int CONTROL_BYTES = CMSG_DATA + TakeoverMessage.MAX_PORTS * Integer.BYTES;
    private static final int CONTROL_OFFSET = MSGHDR_BYTES + IOVEC_BYTES;
    private static final int DATA_OFFSET = CONTROL_OFFSET + CONTROL_BYTES;

    private final NativeSocket socket;
    private final int peerPid;
    private FdWaiter waiter;
    private long receiveBuffer;
    private List<Integer> descriptors = List.of();
    /** Number of messages that wait for room in the socket. Frames are dropped until they are sent. */
    private final AtomicInteger waitingSenders = new AtomicInteger();
    /** Prevents sending to a closed descriptor. Another file may have the same number by then. */
    private final Object sendLock = new Object();
    private boolean closed;

    private TakeoverConnection(NativeSocket socket) throws IOException {
        this.socket = socket;
        UnixSockets.Peer peer = UnixSockets.peerOf(socket);
        peerPid = peer.pid();
        if (peer.uid() != Libc.effectiveUid()) {
            throw new IOException("process " + peerPid + " is of user " + peer.uid() + ", this one of user "
                    + Libc.effectiveUid() + ": ports are taken over within one user");
        }
        waiter = new FdWaiter(socket.fd());
        receiveBuffer = Libc.allocateZeroed(DATA_OFFSET + TakeoverMessage.MAX_BYTES);
    }

    /**
     * Wraps a connected socket.
     *
     * @throws IOException if the peer belongs to another user; the socket is closed
     */
    static TakeoverConnection of(NativeSocket socket) throws IOException {
        try {
            return new TakeoverConnection(socket);
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Connects to the process that listens at a path; returns null if there is none.
     *
     * @throws IOException if that process belongs to another user
     */
    public static TakeoverConnection connect(Path path) throws IOException {
        NativeSocket socket = NativeSocket.open(NativeSocket.AF_UNIX, NativeSocket.SOCK_SEQPACKET, 0);
        int errno = UnixSockets.connect(socket, path);
        if (errno == 0) {
            return of(socket);
        }
        socket.close();
        return switch (errno) {
            case Errno.ENOENT, Errno.ECONNREFUSED -> null;
            case Errno.EACCES -> throw new IOException("'" + path + "' belongs to another user: start this process as"
                    + " the user of the process that serves");
            case Errno.EAGAIN -> throw new IOException("the process at '" + path + "' is busy with other takeovers; "
                    + "try again");
            default -> throw new IOException("cannot connect to '" + path + "': " + Errno.describe(errno));
        };
    }

    /**
     * Returns whether a process serves at a path: it listens there and answers with any message.
     *
     * @throws IOException if a process listens there and does not answer
     */
    public static boolean isServed(Path path, long timeoutNanos) throws IOException {
        TakeoverConnection found = connect(path);
        if (found == null) {
            return false;
        }
        try (found) {
            found.send(new TakeoverMessage.Hello());
            found.receive(timeoutNanos);
            return true;
        } catch (EOFException e) {
            return false;
        }
    }

    /** Returns the process id of the peer. */
    public int peerPid() {
        return peerPid;
    }

    /**
     * Sends a message with descriptors. If frames have filled the socket, waits for room.
     *
     * @throws EOFException if the other process has ended
     * @throws IOException if the other process has not made room in time
     */
    public void send(TakeoverMessage message, List<Integer> fds) throws IOException {
        long deadlineNanos = System.nanoTime() + SEND_TIMEOUT_NANOS;
        int sent;
        waitingSenders.incrementAndGet();
        try {
            while ((sent = sendNow(message, fds)) == -Errno.EAGAIN && deadlineNanos - System.nanoTime() > 0) {
                LockSupport.parkNanos(ROOM_INTERVAL_NANOS);
            }
        } finally {
            waitingSenders.decrementAndGet();
        }
        if (sent == -Errno.EPIPE || sent == -Errno.ECONNRESET) {
            throw endedException();
        }
        if (sent < 0) {
            throw new IOException("cannot send to process " + peerPid + ": " + Errno.describe(-sent));
        }
    }

    /** Sends a message without waiting; returns false if the socket is full or the other process has ended. */
    public boolean trySend(TakeoverMessage message) {
        return waitingSenders.get() == 0 && sendNow(message, List.of()) >= 0;
    }

    /** Returns the number of bytes sent, or the negated errno. */
    private int sendNow(TakeoverMessage message, List<Integer> fds) {
        byte[] packet = TakeoverMessage.encode(message);
        int controlBytes = fds.isEmpty() ? 0 : CMSG_DATA + Integer.BYTES * fds.size();
        long out = Libc.allocateZeroed(CONTROL_OFFSET + (long) CONTROL_BYTES + packet.length);
        try {
            NativeMemory.putBytes(out + DATA_OFFSET, packet, 0, packet.length);
            writeHeader(out, packet.length, controlBytes == 0 ? 0 : controlBytes + 7 & -8);
            if (controlBytes > 0) {
                long control = out + CONTROL_OFFSET;
                NativeMemory.putLong(control, controlBytes);
                NativeMemory.putInt(control + CMSG_LEVEL, NativeSocket.SOL_SOCKET);
                NativeMemory.putInt(control + CMSG_TYPE, SCM_RIGHTS);
                for (int i = 0; i < fds.size(); i++) {
                    NativeMemory.putInt(control + CMSG_DATA + (long) i * Integer.BYTES, fds.get(i));
                }
            }
            synchronized (sendLock) {
                return closed ? -Errno.EPIPE : socket.sendMessage(out);
            }
        } finally {
            Libc.free(out);
        }
    }

    /** Sends a message without descriptors, see {@link #send(TakeoverMessage, List)}. */
    public void send(TakeoverMessage message) throws IOException {
        send(message, List.of());
    }

    private static void writeHeader(long message, int lengthBytes, int controlBytes) {
        NativeMemory.putLong(message + MSG_IOV, message + MSGHDR_BYTES);
        NativeMemory.putLong(message + MSG_IOVLEN, 1);
        NativeMemory.putLong(message + MSG_CONTROL, controlBytes == 0 ? 0 : message + CONTROL_OFFSET);
        NativeMemory.putLong(message + MSG_CONTROLLEN, controlBytes);
        NativeMemory.putLong(message + MSGHDR_BYTES, message + DATA_OFFSET);
        NativeMemory.putLong(message + MSGHDR_BYTES + Long.BYTES, lengthBytes);
    }

    /**
     * Waits for a message. {@link #pollDescriptors} returns the descriptors that came with it.
     *
     * @param timeoutNanos negative to wait without limit
     * @throws EOFException if the other process has ended
     * @throws SocketTimeoutException if no message has arrived in that time
     * @throws IOException if the message is malformed
     */
    public TakeoverMessage receive(long timeoutNanos) throws IOException {
        closeDescriptors();
        long deadlineNanos = System.nanoTime() + timeoutNanos;
        int received;
        while ((received = receiveNow()) == -Errno.EAGAIN || received == -Errno.EINTR) {
            long leftNanos = deadlineNanos - System.nanoTime();
            if (timeoutNanos >= 0 && leftNanos <= 0) {
                throw new SocketTimeoutException("process " + peerPid + " does not answer");
            }
            waiter.await(timeoutNanos < 0 ? -1 : leftNanos);
        }
        if (received == -Errno.ECONNRESET) {
            // The peer ended with unread messages. Its own messages are readable after this error.
            received = receiveNow();
        }
        if (received == 0 || received == -Errno.ECONNRESET || received == -Errno.EAGAIN) {
            throw endedException();
        }
        if (received < 0) {
            throw new IOException("cannot receive from process " + peerPid + ": " + Errno.describe(-received));
        }
        descriptors = receivedDescriptors();
        if ((NativeMemory.getInt(receiveBuffer + MSG_FLAGS) & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
            closeDescriptors();
            throw new IOException("process " + peerPid + " has sent a message that is too long");
        }
        byte[] packet = new byte[received];
        NativeMemory.getBytes(receiveBuffer + DATA_OFFSET, packet, 0, received);
        return TakeoverMessage.decode(packet);
    }

    private EOFException endedException() {
        return new EOFException("process " + peerPid + " has ended");
    }

    /** Waits for a message or the end of the other process; returns false after the timeout. */
    public boolean awaitReadable(long timeoutNanos) {
        return waiter.await(timeoutNanos) != 0;
    }

    /**
     * Reads and discards one message; returns whether the connection has ended. A malformed message is not an end:
     * otherwise this process would serve in parallel with the other one.
     */
    public boolean pollEnd() {
        try {
            receive(0);
            return false;
        } catch (EOFException e) {
            return true;
        } catch (IOException e) {
            // Limits the CPU time for a process that keeps sending malformed messages.
            LockSupport.parkNanos(ROOM_INTERVAL_NANOS);
            return false;
        }
    }

    private int receiveNow() {
        writeHeader(receiveBuffer, TakeoverMessage.MAX_BYTES, CONTROL_BYTES);
        return socket.receiveMessageWithDescriptors(receiveBuffer);
    }

    private List<Integer> receivedDescriptors() {
        long control = receiveBuffer + CONTROL_OFFSET;
        if (NativeMemory.getLong(receiveBuffer + MSG_CONTROLLEN) < CMSG_DATA
                || NativeMemory.getInt(control + CMSG_LEVEL) != NativeSocket.SOL_SOCKET
                || NativeMemory.getInt(control + CMSG_TYPE) != SCM_RIGHTS) {
            return List.of();
        }
        int count = (int) (NativeMemory.getLong(control) - CMSG_DATA) / Integer.BYTES;
        List<Integer> fds = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            fds.add(NativeMemory.getInt(control + CMSG_DATA + (long) i * Integer.BYTES));
        }
        return fds;
    }

    /** Returns the descriptors that came with the last message; the caller closes them. */
    public List<Integer> pollDescriptors() {
        List<Integer> taken = descriptors;
        descriptors = List.of();
        return taken;
    }

    private void closeDescriptors() {
        pollDescriptors().forEach(Libc::close);
    }

    /** Closes the connection, which the other process sees. No thread may be in {@link #receive}. */
    @Override
    public void close() {
        if (receiveBuffer != 0) {
            closeDescriptors();
            synchronized (sendLock) {
                closed = true;
                socket.close();
            }
            waiter.close();
            Libc.free(receiveBuffer);
            receiveBuffer = 0;
        }
    }
}
