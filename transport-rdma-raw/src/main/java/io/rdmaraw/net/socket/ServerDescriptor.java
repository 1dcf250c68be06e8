package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.NetworkChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds the file descriptor of a JDK socket, which the JDK does not publish. The method changes
 * {@code SO_REUSEADDR} through the JDK and looks for the descriptor on which the option has changed.
 */
public final class ServerDescriptor {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    private ServerDescriptor() {
    }

    /**
     * Returns the descriptor, or -1 if it cannot be determined. Leaves {@code SO_REUSEADDR} enabled.
     *
     * @param socket a socket that is not bound yet, so that no other socket depends on the option
     */
    public static int find(ServerSocketChannel socket) throws IOException {
        return findChanging(socket);
    }

    /**
     * Returns the descriptor of a socket that may be connected, or -1 if it cannot be determined. Restores
     * {@code SO_REUSEADDR}.
     */
    public static int find(SocketChannel socket) throws IOException {
        boolean reuse = socket.getOption(StandardSocketOptions.SO_REUSEADDR);
        try {
            return findChanging(socket);
        } finally {
            socket.setOption(StandardSocketOptions.SO_REUSEADDR, reuse);
        }
    }

    /** Synchronized, because two sockets that change at the same time cannot be distinguished. */
    private static synchronized int findChanging(NetworkChannel socket) throws IOException {
        List<Integer> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(DESCRIPTORS)) {
            all.forEach(each -> found.add(Integer.valueOf(each.getFileName().toString())));
        }
        long value = Libc.allocateZeroed(2L * Integer.BYTES);
        try {
            for (boolean on : new boolean[] {true, false, true}) {
                socket.setOption(StandardSocketOptions.SO_REUSEADDR, on);
                found.removeIf(fd -> reuseAddress(fd, value) != (on ? 1 : 0));
            }
        } finally {
            Libc.free(value);
        }
        return found.size() == 1 ? found.getFirst() : -1;
    }

    private static int reuseAddress(int fd, long value) {
        NativeMemory.putInt(value + Integer.BYTES, Integer.BYTES);
        int result = NativeSocket.getOption(fd, NativeSocket.SOL_SOCKET, NativeSocket.SO_REUSEADDR, value,
                value + Integer.BYTES);
        return result < 0 ? result : NativeMemory.getInt(value);
    }
}
