package io.rdmaraw.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/** Compares the interpreter with libpcap's on generated frames. */
class BpfProgramTest {
    private static final int FRAMES = 2000;
    private static final int PROGRAMS = 20_000;
    /** All codes except those of jumps and returns. */
    private static final int[] CODES = {0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x00, 0x60, 0x80, 0x01, 0x61, 0x81, 0xb1,
        0x02, 0x03, 0x04, 0x14, 0x24, 0x34, 0x44, 0x54, 0x64, 0x74, 0x84, 0x94, 0xa4, 0x0c, 0x1c, 0x2c, 0x3c, 0x4c,
        0x5c, 0x6c, 0x7c, 0x9c, 0xac, 0x07, 0x87};
    private static final int[] JUMPS = {0x05, 0x15, 0x25, 0x35, 0x45, 0x1d, 0x2d, 0x3d, 0x4d};
    private static final int MEMORY_WORDS = 16;
    private static final int RET_K = 0x06;
    private static final int RET_A = 0x16;

    private final Random random = new Random(7);

    private static long instruction(int code, int ifTrue, int ifFalse, int k) {
        return code | (long) ifTrue << 16 | (long) ifFalse << 24 | (long) k << 32;
    }

    private static Libpcap libpcap() {
        Libpcap library = Libpcap.loadOrNull();
        assumeTrue(library != null, "needs libpcap: apt-get install libpcap0.8");
        return library;
    }

    /** Returns a random frame. Some fields have values that the filters name. */
    private byte[] frame() {
        byte[] bytes = new byte[14 + random.nextInt(120)];
        random.nextBytes(bytes);
        int at = 12;
        while (random.nextInt(4) == 0) {
            at = put(bytes, at, 0x81, 0x00, 0, random.nextInt(3));
        }
        boolean ipv6 = random.nextBoolean();
        switch (random.nextInt(4)) {
            case 0 -> put(bytes, at, 0x08, 0x06);
            case 1 -> random.nextInt();
            default -> {
                at = put(bytes, at, ipv6 ? 0x86 : 0x08, ipv6 ? 0xdd : 0);
                int protocol = new int[] {6, 17, 1, 58, 44, 253}[random.nextInt(6)];
                int words = 5 + (random.nextInt(3) == 0 ? random.nextInt(11) : 0);
                if (ipv6) {
                    put(bytes, at, 0x60);
                    put(bytes, at + 6, protocol);
                    put(bytes, at + 24, 0x20, 0x01, 0x0d, 0xb8);
                } else {
                    put(bytes, at, 0x40 | words, 0, 0, 100);
                    put(bytes, at + 6, random.nextInt(3) == 0 ? random.nextInt(256) : 0, 0);
                    put(bytes, at + 9, protocol);
                    put(bytes, at + 12, 10, 0, 0, random.nextInt(3));
                    put(bytes, at + 16, 10, 0, 0, random.nextInt(3));
                }
                at += ipv6 ? 40 : 4 * words;
                put(bytes, at, 0, new int[] {80, 53, 81}[random.nextInt(3)], 0, random.nextInt(90));
            }
        }
        return bytes;
    }

    private static int put(byte[] bytes, int at, int... values) {
        for (int i = 0; i < values.length && at + i < bytes.length; i++) {
            bytes[at + i] = (byte) values[i];
        }
        return at + values.length;
    }

    @ParameterizedTest
    @ValueSource(strings = {"ip", "ip6", "arp", "tcp", "udp", "icmp", "port 80", "tcp port 80", "src port 80",
        "udp dst port 53", "portrange 50-85", "host 10.0.0.1", "src host 10.0.0.1 and dst host 10.0.0.2",
        "net 10.0.0.0/8", "not port 80", "tcp and not host 10.0.0.1", "vlan", "vlan 1", "vlan 1 and tcp port 80",
        "vlan and vlan and udp", "ip6 host 2001:db8::1", "ip6 net 2001:db8::/32", "ip6 and tcp port 80",
        "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "tcp[13] & 7 != 0 and ip[8] > 64", "ip[6:2] & 0x1fff = 0",
        "greater 60", "less 60", "len > 100", "ether host 02:00:00:00:00:01", "ether[0] & 1 = 1", "broadcast",
        "multicast", "ether proto 0x0806", "ip proto 253", "tcp[20:4] = 0x47455420",
        "(ip[2:2] - ((ip[0] & 0xf) << 2)) > 40", "udp[8:2] * 3 % 7 = 2", "ip[8] / 2 > 30 or ip[1] ^ 5 = 3",
        "tcp[((tcp[12] & 0xf0) >> 2):1] = 0x41", "ether[ether[0]] & 1 = 1",
        "host 10.0.0.1 and (port 80 or port 53) and not vlan"})
    void compiledFilterAcceptsTheSameFramesAsLibpcap(String filter) throws Throwable {
        Libpcap library = libpcap();
        long[] instructions = library.compile(filter);
        BpfProgram ours = new BpfProgram(instructions);
        MemorySegment theirs = library.program(instructions);
        for (int i = 0; i < FRAMES; i++) {
            check(library, theirs, ours, frame(), filter);
        }
    }

    private void check(Libpcap library, MemorySegment theirs, BpfProgram ours, byte[] frame, String text)
            throws Throwable {
        int available = random.nextInt(4) == 0 ? random.nextInt(frame.length + 1) : frame.length;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(available);
            MemorySegment.copy(frame, 0, memory, ValueLayout.JAVA_BYTE, 0, available);
            boolean expected = library.matches(theirs, memory, frame.length);
            assertEquals(expected, ours.matches(memory.address(), available, frame.length), text);
            assertEquals(expected, ours.matches(memory.address(), Math.min(available, ours.neededBytes()),
                    frame.length), text + " on the first " + ours.neededBytes() + " bytes");
        }
    }

    @Test
    void generatedProgramAcceptsTheSameFramesAsLibpcap() throws Throwable {
        Libpcap library = libpcap();
        int accepted = 0;
        for (int i = 0; i < PROGRAMS; i++) {
            long[] instructions = generate();
            BpfProgram ours = new BpfProgram(instructions);
            MemorySegment theirs = library.program(instructions);
            byte[] frame = frame();
            check(library, theirs, ours, frame, "program " + i);
            accepted += ours.matches(MemorySegment.ofArray(new byte[0]).address(), 0, frame.length) ? 1 : 0;
        }
        assertTrue(accepted > PROGRAMS / 100, "the programs should not all end at their first load: " + accepted);
    }

    private long[] generate() {
        int count = MEMORY_WORDS + 2 + random.nextInt(30);
        long[] instructions = new long[count];
        for (int i = 0; i < MEMORY_WORDS; i++) {
            // libpcap does not clear the memory before a program.
            instructions[i] = instruction(0x02, 0, 0, i);
        }
        for (int i = MEMORY_WORDS; i < count - 1; i++) {
            int rest = count - 2 - i;
            if (random.nextInt(4) == 0) {
                int code = JUMPS[random.nextInt(JUMPS.length)];
                instructions[i] = code == 0x05 ? instruction(code, 0, 0, random.nextInt(rest + 1))
                        : instruction(code, random.nextInt(rest + 1), random.nextInt(rest + 1), constant(code));
            } else {
                int code = CODES[random.nextInt(CODES.length)];
                instructions[i] = instruction(code, 0, 0, constant(code));
            }
        }
        instructions[count - 1] = instruction(random.nextInt(4) == 0 ? RET_K : RET_A, 0, 0, random.nextInt(2));
        return instructions;
    }

    private int constant(int code) {
        return switch (code) {
            case 0x60, 0x61, 0x02, 0x03 -> random.nextInt(MEMORY_WORDS);
            case 0x34, 0x94 -> 1 + random.nextInt(100);
            // libpcap's result of a longer shift is that of the processor.
            case 0x64, 0x74 -> random.nextInt(32);
            case 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0xb1 -> random.nextInt(20) == 0 ? random.nextInt()
                    : random.nextInt(60);
            default -> random.nextInt(3) == 0 ? random.nextInt() : random.nextInt(256);
        };
    }

    @Test
    void programThatMayNotTerminateIsRejected() throws Throwable {
        assertInvalid();
        assertInvalid(instruction(0x00, 0, 0, 1));
        assertInvalid(instruction(0x05, 0, 0, -1), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0x05, 0, 0, 1), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0x15, 1, 0, 1), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0x15, 0, 1, 1), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0x60, 0, 0, 16), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0x03, 0, 0, -1), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0x34, 0, 0, 0), instruction(RET_K, 0, 0, 1));
        assertInvalid(instruction(0xff, 0, 0, 0), instruction(RET_K, 0, 0, 1));
        assertInvalid(new long[5000]);
        assertInvalid(libpcap().compile("ip6 protochain 6"));
    }

    private static void assertInvalid(long... instructions) {
        assertThrows(IllegalArgumentException.class, () -> new BpfProgram(instructions));
    }
}
