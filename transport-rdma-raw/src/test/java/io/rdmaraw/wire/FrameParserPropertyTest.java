package io.rdmaraw.wire;

import static io.rdmaraw.wire.Frames.hex;
import static io.rdmaraw.wire.Frames.join;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

/** Random and damaged frames; see {@link FrameChecks} for the properties. */
class FrameParserPropertyTest {
    private static final List<byte[]> SEEDS = seeds();
    private final FrameChecks checks = new FrameChecks();

    @Property(tries = 20000)
    void randomBytesKeepProperties(@ForAll @Size(max = 200) byte[] bytes) {
        checks.check(bytes);
    }

    @Property(tries = 20000)
    void damagedFramesKeepProperties(@ForAll("damaged") byte[] bytes) {
        checks.check(bytes);
    }

    @Provide
    Arbitrary<byte[]> damaged() {
        return Arbitraries.randomValue(FrameParserPropertyTest::damage);
    }

    /** Uses a fast generator instead of jqwik's, which is too slow for millions of frames. */
    @Test
    void manyDamagedFramesReachEveryVerdict() {
        Random random = new Random(20260101);
        long before = FrameChecks.parsedFrames(checks.counters());
        for (int i = 0; i < 1_000_000; i++) {
            checks.check(damage(random));
        }
        assertTrue(FrameChecks.parsedFrames(checks.counters()) - before >= 4_000_000);
        for (ParseVerdict verdict : ParseVerdict.values()) {
            assertTrue(checks.count(verdict) > 0, () -> "no frame came to " + verdict);
        }
    }

    /**
     * Truncates every seed at every length and adapts the IP length fields, so that the next layer is truncated.
     */
    @Test
    void truncatedFramesKeepProperties() {
        for (byte[] seed : SEEDS) {
            for (int length = 0; length <= seed.length; length++) {
                checks.check(shortened(seed, length));
            }
        }
    }

    private static byte[] shortened(byte[] seed, int lengthBytes) {
        byte[] bytes = Arrays.copyOf(seed, lengthBytes);
        boolean version6 = seed.length > 14 && seed[14] >>> 4 == 6;
        if (version6 && lengthBytes >= 54 && lengthBytes < seed.length) {
            Frames.put16(bytes, 18, lengthBytes - 54);
        } else if (!version6 && lengthBytes >= 34 && lengthBytes < seed.length) {
            Frames.put16(bytes, 16, lengthBytes - 14);
        }
        return bytes;
    }

    private static byte[] damage(Random random) {
        byte[] seed = SEEDS.get(random.nextInt(SEEDS.size()));
        byte[] bytes = switch (random.nextInt(6)) {
            case 0 -> Arrays.copyOf(seed, random.nextInt(seed.length + 8));
            case 1 -> shortened(seed, random.nextInt(seed.length));
            default -> seed.clone();
        };
        int changes = random.nextInt(4);
        for (int i = 0; i < changes && bytes.length > 0; i++) {
            int index = random.nextInt(random.nextBoolean() ? Math.min(bytes.length, 60) : bytes.length);
            bytes[index] = (byte) (random.nextBoolean() ? random.nextInt() : bytes[index] ^ 1 << random.nextInt(8));
        }
        return bytes;
    }

    private static List<byte[]> seeds() {
        byte[] v4 = hex(Frames.ETHERNET);
        byte[] v6 = hex(Frames.ETHERNET6);
        byte[] data = hex("68656c6c6f");
        byte[] options = hex("020405b40402080a01020304000000000103030701010101");
        byte[] tcp4 = Frames.ipv4(6, 0x4000, Frames.tcp(4, options, data));
        byte[] udp6 = Frames.udp(6, data);
        byte[] extension = hex("3c00010400000000");
        byte[] manyExtensions = join(IntStream.range(0, 9).mapToObj(i -> extension).toArray(byte[][]::new));
        String nd = "8700000000000000" + Frames.V6_DESTINATION + "0101020000000001";
        return List.of(
                join(v4, tcp4), join(v4, Frames.ipv4(17, 0, Frames.udp(4, data))),
                join(v4, Frames.ipv4(17, 0, hex("9404000001010100"), Frames.udp(4, data))),
                join(v4, Frames.ipv4(17, 0, hex("830704c0a8000300"), Frames.udp(4, data))),
                join(v4, Frames.ipv4(17, 0, hex("07050000"), Frames.udp(4, data))),
                join(v4, Frames.ipv4(17, 0x2002, new byte[24])), join(v4, Frames.ipv4(6, 1, new byte[24])),
                join(v4, Frames.ipv4(1, 0, Frames.checksummed(4, 1, 2, join(hex("0304000000000578"), tcp4)))),
                join(v4, Frames.ipv4(1, 0, Frames.checksummed(4, 1, 2, hex("0304000000000578450000")))),
                join(v6, Frames.ipv6(6, 64, Frames.tcp(6, hex("0101080a0000000100000002"), data))),
                join(v6, Frames.ipv6(0, 64, join(hex("2c00050200000100"), hex("1100000001020304"), udp6))),
                join(v6, Frames.ipv6(44, 64, hex("110000090102030468656c6c6f212121"))),
                join(v6, Frames.ipv6(44, 64, hex("110000090102030468656c6c"))),
                join(v6, Frames.ipv6(43, 64, join(hex("1100000100000000"), udp6))),
                join(v6, Frames.ipv6(60, 64, join(hex("1100c20400010000"), udp6))),
                join(v6, Frames.ipv6(60, 64, join(manyExtensions, udp6))),
                join(v6, Frames.ipv6(58, 255, Frames.checksummed(6, 58, 2, hex(nd)))),
                join(v6, Frames.ipv6(58, 255, Frames.checksummed(6, 58, 2, hex(nd.substring(0, 50), "000000000000")))),
                join(v6, Frames.ipv6(58, 64, Frames.checksummed(6, 58, 2, hex(nd)))),
                join(v6, Frames.ipv6(58, 64, Frames.checksummed(6, 58, 2, join(hex("0200000000000500"),
                        Frames.ipv6(17, 64, udp6))))),
                join(v6, Frames.ipv6(17, 64, hex("1111222200080000"))),
                hex("ffffffffffff02000000000108060001080006040001020000000001c0a80001000000000000c0a80002"),
                join(hex("0200000000020200000000018100a06488a800020800"), tcp4),
                join(hex("02000000000202000000000181000001810000028100000308000000"), tcp4),
                hex("0180c200000e02000000000188cc0207"));
    }
}
