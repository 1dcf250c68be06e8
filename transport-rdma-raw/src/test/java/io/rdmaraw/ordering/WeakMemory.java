package io.rdmaraw.ordering;

import io.rdmaraw.ffi.NativeMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * Simulates memory shared by a weakly ordered processor and a device. The classes under test read and write through it,
 * see {@link RingClasses}. For use by one thread.
 *
 * <p>Rules of the simulation:
 * <ul>
 * <li>A plain store becomes visible at any later time, in any order with other plain stores, and possibly before
 * earlier loads.
 * <li>A release store becomes visible after all stores before it.
 * <li>Registers are mapped write-combining. A store to a register, released or not, is ordered only by a full fence,
 * which also sends it to the device.
 * <li>A plain load of memory that the device writes may return the value at the last acquire. An acquiring load returns
 * the present value and makes all later loads current.
 * <li>A plain store to the consumer index of a completion queue after loads of its entries is an error, because the
 * store may become visible before the loads.
 * <li>A load or store outside the memory of the rings is an error: a planted bug must not overwrite memory of this JVM.
 * </ul>
 */
public final class WeakMemory {
    /** The device, called after each store that has become visible. */
    public interface Device {
        void work();
    }

    private record Store(long address, byte[] bytes, boolean release, boolean register) {
        boolean overlaps(Store other) {
            return address < other.address + other.bytes.length && other.address < address + bytes.length;
        }

        long line() {
            return address / LINE_BYTES;
        }
    }

    /** Memory that the device writes, with its content at the last acquire. */
    private record Incoming(long address, byte[] old) {
        boolean holds(long byteAddress) {
            return byteAddress >= address && byteAddress < address + old.length;
        }

        void acquire() {
            NativeMemory.getBytes(address, old, 0, old.length);
        }
    }

    private static final int LINE_BYTES = 64;

    private static final List<Store> STORES = new ArrayList<>();
    private static final List<Incoming> INCOMING = new ArrayList<>();
    private static final List<long[]> REGISTERS = new ArrayList<>();
    /** Ranges to which loads and stores are restricted; unrestricted if empty. */
    private static final List<long[]> BOUNDS = new ArrayList<>();
    private static Random random;
    private static Device device;
    private static long consumerIndex;
    private static boolean loadedEntries;

    private WeakMemory() {
    }

    /** Starts the simulation: stores are delayed and loads may return old values. */
    public static void begin(Random seeded, Device worker) {
        random = seeded;
        device = worker;
        INCOMING.forEach(Incoming::acquire);
    }

    /** Ends the simulation and performs the delayed stores. */
    public static void end() {
        device = null;
        while (!STORES.isEmpty()) {
            make(STORES.removeFirst());
        }
        INCOMING.clear();
        REGISTERS.clear();
        BOUNDS.clear();
        consumerIndex = 0;
        loadedEntries = false;
    }

    /** Declares memory that the device writes. */
    public static void addIncoming(long address, long lengthBytes) {
        INCOMING.add(new Incoming(address, new byte[Math.toIntExact(lengthBytes)]));
    }

    /** Declares a register of the device. */
    public static void addRegister(long address, long lengthBytes) {
        REGISTERS.add(new long[] {address, address + lengthBytes});
    }

    /** Restricts loads and stores to this range and the other ranges added. */
    public static void addBounds(long address, long lengthBytes) {
        BOUNDS.add(new long[] {address, address + lengthBytes});
    }

    private static void checkBounds(String what, long address, int lengthBytes) {
        for (long[] bounds : BOUNDS) {
            if (address >= bounds[0] && address + lengthBytes <= bounds[1]) {
                return;
            }
        }
        if (!BOUNDS.isEmpty()) {
            throw new AssertionError("a " + what + " of " + lengthBytes + " bytes beyond the rings' memory");
        }
    }

    /** Sets the address of the consumer index. A store there returns completion entries to the device. */
    public static void consumerIndexAt(long address) {
        consumerIndex = address;
    }

    /** Loads up to eight bytes in the machine's byte order. */
    public static long load(long address, int lengthBytes, boolean acquire) {
        checkBounds("load", address, lengthBytes);
        if (device != null) {
            maybeMakeSome();
        }
        if (acquire) {
            INCOMING.forEach(Incoming::acquire);
        }
        long value = 0;
        for (int i = lengthBytes - 1; i >= 0; i--) {
            value = value << 8 | loadByte(address + i) & 0xff;
        }
        return value;
    }

    private static byte loadByte(long address) {
        if (device == null) {
            return NativeMemory.getByte(address);
        }
        for (int i = STORES.size() - 1; i >= 0; i--) {
            Store store = STORES.get(i);
            if (address >= store.address && address < store.address + store.bytes.length) {
                return store.bytes[(int) (address - store.address)];
            }
        }
        for (Incoming incoming : INCOMING) {
            if (incoming.holds(address)) {
                loadedEntries = true;
                int at = (int) (address - incoming.address);
                if (random.nextBoolean()) {
                    incoming.old[at] = NativeMemory.getByte(address);
                }
                return incoming.old[at];
            }
        }
        return NativeMemory.getByte(address);
    }

    /** Stores up to eight bytes in the machine's byte order. */
    public static void store(long address, long value, int lengthBytes, boolean release) {
        checkBounds("store", address, lengthBytes);
        byte[] bytes = new byte[lengthBytes];
        for (int i = 0; i < lengthBytes; i++) {
            bytes[i] = (byte) (value >>> 8 * i);
        }
        boolean register = REGISTERS.stream().anyMatch(r -> address >= r[0] && address < r[1]);
        Store store = new Store(address, bytes, release, register);
        if (device == null) {
            make(store);
            return;
        }
        checkConsumerIndex(store);
        STORES.add(store);
        maybeMakeSome();
    }

    private static void checkConsumerIndex(Store store) {
        if (store.release) {
            loadedEntries = false;
        } else if (store.address == consumerIndex && loadedEntries) {
            throw new AssertionError("the device may see the consumer index before the entries have been read");
        }
    }

    /** Returns 32 bits, big-endian, as visible to the device. */
    public static int visibleInt(long address) {
        return Integer.reverseBytes(NativeMemory.getInt(address));
    }

    /** Overwrites memory with meaningless bytes, as the device may. */
    public static void scribble(long address, long lengthBytes) {
        NativeMemory.fill(address, lengthBytes, (byte) 0xa5);
    }

    /** Copies bytes one by one, without an order among them. */
    public static void copy(long from, long to, long lengthBytes) {
        for (long i = 0; i < lengthBytes; i++) {
            store(to + i, load(from + i, 1, false), 1, false);
        }
    }

    /** Makes all stores visible, and all writes of the device visible to loads. */
    public static void fullFence() {
        if (device == null) {
            return;
        }
        while (makeOne(true)) {
            continue;
        }
        INCOMING.forEach(Incoming::acquire);
        loadedEntries = false;
    }

    /** Makes some stores visible, except those to registers, which remain in a write-combining buffer until a fence. */
    private static void maybeMakeSome() {
        while (random.nextInt(4) == 0 && makeOne(false)) {
            continue;
        }
    }

    /** Makes one of the possible next stores visible. Returns whether there was one. */
    private static boolean makeOne(boolean registers) {
        int[] free = IntStream.range(0, STORES.size())
                .filter(i -> isFree(i) && (registers || !STORES.get(i).register)).toArray();
        if (free.length == 0) {
            return false;
        }
        Store chosen = STORES.get(free[random.nextInt(free.length)]);
        if (chosen.register) {
            List<Store> line = STORES.stream().filter(s -> s.register && s.line() == chosen.line()).toList();
            // The first word is the doorbell. It becomes visible with the bytes written after it.
            line.reversed().forEach(WeakMemory::make);
            STORES.removeIf(s -> s.register && s.line() == chosen.line());
        } else {
            STORES.removeIf(s -> s == chosen);
            make(chosen);
        }
        device.work();
        return true;
    }

    /** Returns whether no earlier store must become visible first. */
    private static boolean isFree(int index) {
        Store store = STORES.get(index);
        for (Store earlier : STORES.subList(0, index)) {
            if (earlier.overlaps(store) || store.release && !store.register && !earlier.register) {
                return false;
            }
        }
        return true;
    }

    private static void make(Store store) {
        switch (store.bytes.length) {
            case Long.BYTES -> NativeMemory.putLong(store.address, value(store.bytes));
            case Integer.BYTES -> NativeMemory.putInt(store.address, (int) value(store.bytes));
            default -> NativeMemory.putBytes(store.address, store.bytes, 0, store.bytes.length);
        }
    }

    private static long value(byte[] bytes) {
        long value = 0;
        for (int i = bytes.length - 1; i >= 0; i--) {
            value = value << 8 | bytes[i] & 0xff;
        }
        return value;
    }
}
