package io.rdmaraw.net.takeover;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Where a successor finds the process that serves: a Unix socket that its user alone may connect to.
 *
 * <p>It is bound under another name, and then put in the place of what is there: of a predecessor's socket, or of one
 * that a process which was killed has left. So a successor finds the old or the new one, and never none.
 */
public final class TakeoverListener implements AutoCloseable {
    private static final int OWNER_ALONE = 0600;
    private static final int BACKLOG = 8;
    /** Of {@code st_mode}, see inode(7). */
    private static final int S_IFMT = 0xF000;
    private static final int S_IFSOCK = 0xC000;

    private final NativeSocket socket;
    private final FdWaiter waiter;
    private final Path path;
    private final Object inode;

    private TakeoverListener(NativeSocket socket, Path path, Object inode) {
        this.socket = socket;
        this.path = path;
        this.inode = inode;
        waiter = new FdWaiter(socket.fd());
    }

    /**
     * Listens at a path, in the place of the socket that is there.
     *
     * @throws IOException when something else is there, or the directory does not let the user make one
     */
    public static TakeoverListener open(Path path) throws IOException {
        requireSocketOrNothing(path);
        Path made = path.resolveSibling(path.getFileName() + "." + ProcessHandle.current().pid());
        Files.deleteIfExists(made);
        NativeSocket socket = NativeSocket.open(NativeSocket.AF_UNIX, NativeSocket.SOCK_SEQPACKET, 0);
        try {
            // Before bind() the mode is that of the file which bind() makes, so no other user ever has
            // the time to connect.
            check(Libc.fchmod(socket.fd(), OWNER_ALONE), "its mode cannot be set", path);
            check(UnixSockets.bind(socket, made), "no socket can be made there", path);
            check(socket.listen(BACKLOG), "it does not listen", path);
            Object inode = inodeOf(made);
            Files.move(made, path, StandardCopyOption.ATOMIC_MOVE);
            return new TakeoverListener(socket, path, inode);
        } catch (IOException | RuntimeException e) {
            socket.close();
            Files.deleteIfExists(made);
            throw e;
        }
    }

    /** Refuses what is no socket: it is not to be replaced. */
    public static void requireSocketOrNothing(Path path) throws IOException {
        try {
            int mode = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            if ((mode & S_IFMT) != S_IFSOCK) {
                throw new IOException("'" + path + "' is there and is no socket; choose another path for the takeover");
            }
        } catch (NoSuchFileException e) {
            // The first process.
        }
    }

    private static void check(int errno, String what, Path path) throws IOException {
        if (errno != 0) {
            throw new IOException("'" + path + "': " + what + ": " + Errno.describe(errno));
        }
    }

    private static Object inodeOf(Path path) throws IOException {
        return Files.getAttribute(path, "unix:ino", LinkOption.NOFOLLOW_LINKS);
    }

    /**
     * Waits for a successor; returns null when none has come in time.
     *
     * @throws IOException when it is another user's
     */
    public TakeoverConnection accept(long timeoutNanos) throws IOException {
        if (waiter.await(timeoutNanos) == 0) {
            return null;
        }
        NativeSocket accepted = socket.accept();
        return accepted == null ? null : TakeoverConnection.of(accepted);
    }

    /** Listens no more, and leaves the file to the successor's, which is there already or comes at once. */
    public void abandon() {
        socket.close();
        waiter.close();
    }

    @Override
    public void close() {
        abandon();
        try {
            if (inodeOf(path).equals(inode)) {
                Files.delete(path);
            }
        } catch (IOException e) {
            // Another process's, or gone with its directory.
        }
    }
}
