package io.rdmaraw.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares the hash with Microsoft's "Verifying the RSS Hash Calculation" and with a bitwise model. */
class ToeplitzTest {
    private static final byte[] KEY = HexFormat.of().parseHex(
            "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");
    private final Toeplitz standard = Toeplitz.standard(KEY);

    @ParameterizedTest
    @CsvSource({
        "161.142.100.80,1766,66.9.149.187,2794,51ccc178,323e8fc2",
        "65.69.140.83,4739,199.92.111.2,14230,c626b0ea,d718262a",
        "12.22.207.184,38024,24.19.198.95,12898,5c2b394a,d2d0a5de",
        "209.142.163.6,2217,38.27.205.30,48228,afc7327f,82989176",
        "202.188.127.2,1303,153.39.163.191,44251,10e828a2,5d1809c5"})
    void hashesIpv4AsPublished(String destination, int destinationPort, String source, int sourcePort, String withPorts,
                               String addressesOnly) throws UnknownHostException {
        // The published table lists the destination first; the hash input has the source first.
        int from = intOf(InetAddress.getByName(source).getAddress());
        int to = intOf(InetAddress.getByName(destination).getAddress());
        assertEquals(Integer.parseUnsignedInt(withPorts, 16), standard.ipv4(from, to, sourcePort, destinationPort));
        assertEquals(Integer.parseUnsignedInt(addressesOnly, 16), standard.ipv4(from, to));
    }

    @ParameterizedTest
    @CsvSource({
        "3ffe:2501:200:3::1,1766,3ffe:2501:200:1fff::7,2794,40207d3d,2cc18cd5",
        "ff02::1,4739,3ffe:501:8::260:97ff:fe40:efab,14230,dde51bbf,0f0c461c",
        "fe80::200:f8ff:fe21:67cf,38024,3ffe:1900:4545:3:200:f8ff:fe21:67cf,44251,02d1feef,4b61e985"})
    void hashesIpv6AsPublished(String destination, int destinationPort, String source, int sourcePort, String withPorts,
                               String addressesOnly) throws UnknownHostException {
        ByteBuffer from = ByteBuffer.wrap(InetAddress.getByName(source).getAddress());
        ByteBuffer to = ByteBuffer.wrap(InetAddress.getByName(destination).getAddress());
        assertEquals(Integer.parseUnsignedInt(withPorts, 16), standard.ipv6(from.getLong(0), from.getLong(8),
                to.getLong(0), to.getLong(8), sourcePort, destinationPort));
        assertEquals(Integer.parseUnsignedInt(addressesOnly, 16),
                standard.ipv6(from.getLong(0), from.getLong(8), to.getLong(0), to.getLong(8)));
    }

    @Test
    void matchesBitwiseDefinition() {
        Random random = new Random(1);
        for (int i = 0; i < 1000; i++) {
            byte[] key = new byte[Toeplitz.KEY_LENGTH_BYTES];
            random.nextBytes(key);
            ByteBuffer input = ByteBuffer.allocate(36);
            random.nextBytes(input.array());
            int actual = Toeplitz.standard(key).ipv6(input.getLong(0), input.getLong(8), input.getLong(16),
                    input.getLong(24), input.getShort(32) & 0xffff, input.getShort(34) & 0xffff);
            assertEquals(bitwise(key, input.array()), actual);
        }
    }

    private static int bitwise(byte[] key, byte[] input) {
        int result = 0;
        for (int bit = 0; bit < input.length * 8; bit++) {
            if ((input[bit / 8] >> 7 - bit % 8 & 1) != 0) {
                for (int k = 0; k < 32; k++) {
                    int keyBit = bit + k;
                    result ^= (key[keyBit / 8] >> 7 - keyBit % 8 & 1) << 31 - k;
                }
            }
        }
        return result;
    }

    @Test
    void rejectsKeyOfOtherLength() {
        assertThrows(IllegalArgumentException.class, () -> Toeplitz.standard(new byte[39]));
    }

    private static int intOf(byte[] address) {
        return ByteBuffer.wrap(address).getInt();
    }
}
