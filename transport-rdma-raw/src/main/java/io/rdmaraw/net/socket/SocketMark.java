package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.net.SocketException;

/** SO_MARK of the kernel's sockets (socket(7)): what policy rules and filters may ask for of what they send. */
public final class SocketMark {
    /** Of asm-generic/socket.h. */
    private static final int SO_MARK = 36;

    private SocketMark() {
    }

    /**
     * Marks what a socket sends from now on, and that of connections which a listening one accepts. One that is marked
     * so already needs no capability.
     *
     * @param mark 0 for none
     * @throws SocketException without a capability for it
     */
    public static void set(int fd, int mark) throws SocketException {
        long value = Libc.allocateZeroed(2L * Integer.BYTES);
        try {
            NativeMemory.putInt(value + Integer.BYTES, Integer.BYTES);
            // Where it cannot be read there is none.
            NativeSocket.getOption(fd, NativeSocket.SOL_SOCKET, SO_MARK, value, value + Integer.BYTES);
            if (NativeMemory.getInt(value) == mark) {
                return;
            }
            NativeMemory.putInt(value, mark);
            int result = NativeSocket.setOption(fd, NativeSocket.SOL_SOCKET, SO_MARK, value, Integer.BYTES);
            if (result < 0) {
                throw new SocketException("SO_MARK of the kernel's socket of the port cannot be set: "
                        + Errno.describe(-result) + (result == -Errno.EPERM
                                ? "; it takes CAP_NET_ADMIN, or from Linux 5.17 on CAP_NET_RAW" : ""));
            }
        } finally {
            Libc.free(value);
        }
    }
}
