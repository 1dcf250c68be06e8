package io.rdmaraw.takeover;

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
 * The Unix socket at which successors connect to the process that serves. Only the user of the process may connect.
 *
 * <p>The socket is bound to a temporary name and then renamed over the existing file. That file belongs to the
 * predecessor or to a process that was killed. A successor therefore always finds the old or the new socket.
 */
public final class TakeoverSocket implements AutoCloseable {
    private static final int OWNER_ONLY = 0600;
    private static final int BACKLOG = 8;
    /** Bits of {@code st_mode}, see inode(7). */
    private static final int S_IFMT = 0xF000;
    private static final int S_IFSOCK = 0xC000;

    private final NativeSocket socket;
    private final FdWaiter waiter;
    private final Path path;
    private final Object inode;

    private TakeoverSocket(NativeSocket socket, Path path, Object inode) {
        this.socket = socket;
        this.path = path;
        this.inode = inode;
        waiter = new FdWaiter(socket.fd());
    }

    /**
     * Listens at a path and replaces a socket that exists there.
     *
     * @throws IOException if the path is another kind of file, or the user may not create a socket in the directory
     */
    public static TakeoverSocket open(Path path) throws IOException {
        requireSocketOrAbsent(path);
        Path temporary = path.resolveSibling(path.getFileName() + "." + ProcessHandle.current().pid());
        Files.deleteIfExists(temporary);
        NativeSocket socket = NativeSocket.open(NativeSocket.AF_UNIX, NativeSocket.SOCK_SEQPACKET, 0);
        try {
            // Set before bind(), which creates the file with this mode: other users cannot connect at any time.
            check(Libc.fchmod(socket.fd(), OWNER_ONLY), "its mode cannot be set", path);
            check(UnixSockets.bind(socket, temporary), "no socket can be made there", path);
            check(socket.listen(BACKLOG), "it does not listen", path);
            Object inode = inodeOf(temporary);
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
            return new TakeoverSocket(socket, path, inode);
        } catch (IOException | RuntimeException e) {
            socket.close();
            Files.deleteIfExists(temporary);
            throw e;
        }
    }

    /** Checks that a path is free or is a socket: no other kind of file may be replaced. */
    public static void requireSocketOrAbsent(Path path) throws IOException {
        try {
            int mode = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            if ((mode & S_IFMT) != S_IFSOCK) {
                throw new IOException("'" + path + "' exists and is no socket; choose another path for the takeover");
            }
        } catch (NoSuchFileException e) {
            // Free: this is the first process.
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
     * Waits for a successor; returns null after the timeout.
     *
     * @throws IOException if the successor belongs to another user
     */
    public TakeoverConnection accept(long timeoutNanos) throws IOException {
        if (waiter.await(timeoutNanos) == 0) {
            return null;
        }
        NativeSocket accepted = socket.accept();
        return accepted == null ? null : TakeoverConnection.of(accepted);
    }

    /** Stops listening and keeps the file: the successor replaces it, or has done so. */
    public void closeKeepingFile() {
        socket.close();
        waiter.close();
    }

    @Override
    public void close() {
        closeKeepingFile();
        try {
            if (inodeOf(path).equals(inode)) {
                Files.delete(path);
            }
        } catch (IOException e) {
            // The file or its directory is gone.
        }
    }
}
