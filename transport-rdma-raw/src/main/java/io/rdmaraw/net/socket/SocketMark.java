package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.net.SocketException;

/** The mark ({@code SO_MARK}, socket(7)) of kernel sockets, used for policy routing and by firewalls. */
public final class SocketMark {
    /** The value in asm-generic/socket.h. */
    private static final int SO_MARK = 36;

    private SocketMark() {
    }

    /**
     * Sets the mark of packets sent by a socket, and by connections that a listening socket accepts. Setting
     * the mark that the socket already has needs no capability.
     *
     * @param mark the mark, or 0 for none
     * @throws SocketException if the process lacks the capability
     */
    public static void set(int fd, int mark) throws SocketException {
        long value = Libc.allocateZeroed(2L * Integer.BYTES);
        try {
            NativeMemory.putInt(value + Integer.BYTES, Integer.BYTES);
            // If the option cannot be read, the mark remains 0.
            NativeSocket.getOption(fd, NativeSocket.SOL_SOCKET, SO_MARK, value, value + Integer.BYTES);
            if (NativeMemory.getInt(value) == mark) {
                return;
            }
            NativeMemory.putInt(value, mark);
            int result = NativeSocket.setOption(fd, NativeSocket.SOL_SOCKET, SO_MARK, value, Integer.BYTES);
            if (result < 0) {
                throw new SocketException("cannot set SO_MARK of the kernel socket on the port: "
                        + Errno.describe(-result) + (result == -Errno.EPERM
                                ? "; this requires CAP_NET_ADMIN, or since Linux 5.17 CAP_NET_RAW" : ""));
            }
        } finally {
            Libc.free(value);
        }
    }
}
