package io.rdmaraw.takeover;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Addresses and peer credentials of Unix sockets, see unix(7). */
final class UnixSockets {
    private static final int PATH_OFFSET = 2;
    private static final int PATH_BYTES = 108;
    private static final int SOCKADDR_BYTES = PATH_OFFSET + PATH_BYTES;
    private static final int SO_PEERCRED = 17;
    /** Layout of {@code struct ucred}. */
    private static final int UCRED_BYTES = 12;
    private static final int UCRED_UID = 4;

    private UnixSockets() {
    }

    /** The process and user that opened the other end of a socket. */
    record Peer(int pid, int uid) {
    }

    private interface Call {
        int call(long sockaddr, int lengthBytes);
    }

    private static int withAddress(Path path, Call call) throws IOException {
        byte[] name = path.toString().getBytes(StandardCharsets.UTF_8);
        if (name.length >= PATH_BYTES) {
            throw new IOException("the path of a Unix socket is longer than " + (PATH_BYTES - 1) + " bytes: " + path);
        }
        long address = Libc.allocateZeroed(SOCKADDR_BYTES);
        try {
            NativeMemory.putShort(address, (short) NativeSocket.AF_UNIX);
            NativeMemory.putBytes(address + PATH_OFFSET, name, 0, name.length);
            return call.call(address, PATH_OFFSET + name.length + 1);
        } finally {
            Libc.free(address);
        }
    }

    /** Connects; returns 0 or errno. */
    static int connect(NativeSocket socket, Path path) throws IOException {
        return withAddress(path, socket::connect);
    }

    /** Binds; returns 0 or errno. */
    static int bind(NativeSocket socket, Path path) throws IOException {
        return withAddress(path, socket::bind);
    }

    static Peer peerOf(NativeSocket socket) throws IOException {
        long value = Libc.allocateZeroed(UCRED_BYTES + Integer.BYTES);
        try {
            NativeMemory.putInt(value + UCRED_BYTES, UCRED_BYTES);
            int result = NativeSocket.getOption(socket.fd(), NativeSocket.SOL_SOCKET, SO_PEERCRED, value,
                    value + UCRED_BYTES);
            if (result < 0) {
                throw new IOException("cannot determine the peer process of a Unix socket: "
                        + Errno.describe(-result));
            }
            return new Peer(NativeMemory.getInt(value), NativeMemory.getInt(value + UCRED_UID));
        } finally {
            Libc.free(value);
        }
    }
}
