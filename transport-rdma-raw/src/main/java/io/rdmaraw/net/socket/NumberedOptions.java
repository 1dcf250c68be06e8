package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;

import java.net.SocketException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Options of a kernel socket by level and number, see setsockopt(2). They are stored in the order in which they were
 * set, until the socket is opened. Thread-safe.
 */
public final class NumberedOptions {
    private static final int IPPROTO_IP = 0;
    /** Permits binding an address that this host does not have. */
    public static final Key IP_FREEBIND = new Key(IPPROTO_IP, 15);
    /** Permits binding an address of another host, and accepts connections that a firewall redirects. */
    public static final Key IP_TRANSPARENT = new Key(IPPROTO_IP, 19);
    /** Defers the selection of a port from bind to connect. */
    public static final Key IP_BIND_ADDRESS_NO_PORT = new Key(IPPROTO_IP, 24);

    private static final Map<Key, String> NAMES = Map.of(IP_FREEBIND, "IP_FREEBIND", IP_TRANSPARENT, "IP_TRANSPARENT",
            IP_BIND_ADDRESS_NO_PORT, "IP_BIND_ADDRESS_NO_PORT");

    /** Level and number of an option. */
    public record Key(int level, int number) {
        @Override
        public String toString() {
            String name = NAMES.get(this);
            return name != null ? name : "socket option " + number + " of level " + level;
        }
    }

    private final Map<Key, byte[]> values = new LinkedHashMap<>();

    /** Stores an option. */
    public synchronized void put(Key key, byte[] value) {
        values.put(key, value.clone());
    }

    /** Stores an earlier result of {@link #getOrNull} again. */
    public synchronized void restore(Key key, byte[] valueOrNull) {
        if (valueOrNull == null) {
            values.remove(key);
        } else {
            values.put(key, valueOrNull);
        }
    }

    /** Returns the stored value of an option; null if it was not set. */
    public synchronized byte[] getOrNull(Key key) {
        byte[] value = values.get(key);
        return value == null ? null : value.clone();
    }

    /** Returns whether an option was set to a value other than 0. */
    public boolean isOn(Key key) {
        byte[] value = getOrNull(key);
        return value != null && toInt(value) != 0;
    }

    /** Returns whether no option was set. */
    public synchronized boolean isEmpty() {
        return values.isEmpty();
    }

    /**
     * Sets all stored options on a socket.
     *
     * @throws SocketException if the kernel rejects one
     */
    public synchronized void applyTo(int fd) throws SocketException {
        for (Map.Entry<Key, byte[]> option : values.entrySet()) {
            set(fd, option.getKey(), option.getValue());
        }
    }

    /**
     * Sets an option of a socket.
     *
     * @throws SocketException if the kernel rejects it
     */
    public static void set(int fd, Key key, byte[] value) throws SocketException {
        long memory = Libc.allocateZeroed(Math.max(1, value.length));
        try {
            NativeMemory.putBytes(memory, value, 0, value.length);
            int result = NativeSocket.setOption(fd, key.level, key.number, memory, value.length);
            if (result < 0) {
                throw failure("set", key, -result);
            }
        } finally {
            Libc.free(memory);
        }
    }

    /**
     * Reads an option of a socket.
     *
     * @param maxBytes maximum length of the value
     * @throws SocketException if the kernel does not know the option
     */
    public static byte[] get(int fd, Key key, int maxBytes) throws SocketException {
        long memory = Libc.allocateZeroed((long) maxBytes + Integer.BYTES);
        try {
            NativeMemory.putInt(memory + maxBytes, maxBytes);
            int result = NativeSocket.getOption(fd, key.level, key.number, memory, memory + maxBytes);
            if (result < 0) {
                throw failure("read", key, -result);
            }
            byte[] value = new byte[NativeMemory.getInt(memory + maxBytes)];
            NativeMemory.getBytes(memory, value, 0, value.length);
            return value;
        } finally {
            Libc.free(memory);
        }
    }

    private static SocketException failure(String action, Key key, int errno) {
        return new SocketException("cannot " + action + " " + key + " of a kernel socket: " + Errno.describe(errno)
                + (errno == Errno.EPERM ? "; it requires CAP_NET_ADMIN or, for IP_TRANSPARENT, CAP_NET_RAW" : ""));
    }

    /** Returns the value of an {@code int} option in the byte order of the host. */
    public static byte[] ofInt(int value) {
        return new byte[] {(byte) value, (byte) (value >> 8), (byte) (value >> 16), (byte) (value >> 24)};
    }

    /** Returns an {@code int} from the value of an option. Missing bytes are 0. */
    public static int toInt(byte[] value) {
        int result = 0;
        for (int i = Math.min(Integer.BYTES, value.length) - 1; i >= 0; i--) {
            result = result << Byte.SIZE | value[i] & 0xff;
        }
        return result;
    }
}
