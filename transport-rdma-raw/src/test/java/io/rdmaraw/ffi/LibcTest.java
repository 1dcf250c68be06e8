package io.rdmaraw.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LibcTest {
    @Test
    void constantsMatchTheCompiler() throws Exception {
        List<String> expressions = new ArrayList<>();
        List<Long> values = new ArrayList<>();
        for (Field field : Errno.class.getFields()) {
            expressions.add(field.getName());
            values.add((long) field.getInt(null));
        }
        for (String name : List.of("PROT_READ", "PROT_WRITE", "MAP_SHARED", "MAP_PRIVATE", "MAP_ANONYMOUS",
                "MAP_POPULATE",
                "MAP_HUGETLB", "MADV_HUGEPAGE", "EFD_CLOEXEC", "EFD_NONBLOCK", "F_GETFL", "F_SETFL", "O_NONBLOCK")) {
            expressions.add(name);
            values.add(constant(Libc.class, name));
        }
        expressions.add("MFD_CLOEXEC");
        values.add(constant(MemoryFile.class, "MFD_CLOEXEC"));
        expressions.addAll(List.of("sizeof(struct pollfd)", "offsetof(struct pollfd, events)",
                "offsetof(struct pollfd, revents)", "sizeof(struct timespec)", "offsetof(struct timespec, tv_nsec)",
                "POLLIN"));
        for (String name : List.of("POLLFD_SIZE_BYTES", "POLLFD_EVENTS_OFFSET", "POLLFD_REVENTS_OFFSET",
                "TIMESPEC_SIZE_BYTES", "TIMESPEC_TV_NSEC_OFFSET", "POLLIN")) {
            values.add(constant(FdWaiter.class, name));
        }
        StringBuilder source = new StringBuilder("""
                #define _GNU_SOURCE
                #include <errno.h>
                #include <fcntl.h>
                #include <poll.h>
                #include <stddef.h>
                #include <stdio.h>
                #include <sys/eventfd.h>
                #include <sys/mman.h>
                #include <time.h>
                int main(void) {
                """);
        expressions.forEach(e -> source.append("printf(\"%lld\\n\", (long long) (").append(e).append("));\n"));
        List<String> lines = CProgram.run(source + "return 0; }\n");
        assertEquals(expressions.size(), lines.size());
        for (int i = 0; i < lines.size(); i++) {
            assertEquals(lines.get(i), String.valueOf(values.get(i)), expressions.get(i));
        }
    }

    private static long constant(Class<?> owner, String name) throws ReflectiveOperationException {
        Field field = owner.getDeclaredField(name);
        field.setAccessible(true);
        return ((Number) field.get(null)).longValue();
    }

    @Test
    void errnoNamesMatchTheSystem() throws Exception {
        List<String> names = CProgram.run("""
                #define _GNU_SOURCE
                #include <stdio.h>
                #include <string.h>
                int main(void) {
                    for (int i = 1; i < 140; i++) {
                        const char *name = strerrorname_np(i);
                        printf("%s\\n", name ? name : "");
                    }
                    return 0;
                }
                """);
        for (int i = 0; i < names.size(); i++) {
            String ours = Errno.name(i + 1);
            assertEquals(names.get(i).isEmpty() ? "errno " + (i + 1) : names.get(i),
                    ours.equals("EOPNOTSUPP") && names.get(i).equals("ENOTSUP") ? "ENOTSUP" : ours);
        }
        assertEquals("errno -3", Errno.name(-3));
        assertEquals("EEXIST (File exists)", Errno.describe(Errno.EEXIST));
    }

    @Test
    void anEventFdIsReadableFromSignalToDrain() {
        try (EventFd event = new EventFd(); FdWaiter waiter = new FdWaiter(event.fd())) {
            assertEquals(0, waiter.await(0));
            assertFalse(event.drain());
            event.signal();
            event.signal();
            assertEquals(1, waiter.await(-1));
            assertTrue(event.drain());
            assertFalse(event.drain(), "two signals are one event");
            assertEquals(0, waiter.await(1));
        }
    }

    @Test
    void waiterReportsTheReadyDescriptor() {
        try (EventFd first = new EventFd(); EventFd second = new EventFd();
                FdWaiter waiter = new FdWaiter(first.fd(), second.fd())) {
            second.signal();
            assertEquals(0b10, waiter.await(-1));
            first.signal();
            assertEquals(0b11, waiter.await(0));
        }
    }

    @Test
    void anotherThreadEndsAWait() throws Exception {
        try (EventFd event = new EventFd(); FdWaiter waiter = new FdWaiter(event.fd())) {
            Thread signaller = Thread.ofPlatform().start(event::signal);
            assertEquals(1, waiter.await(-1));
            signaller.join();
        }
    }

    @Test
    void closingTwiceIsHarmlessAndWaitingAfterItIsNot() {
        EventFd event = new EventFd();
        FdWaiter waiter = new FdWaiter(event.fd());
        waiter.close();
        waiter.close();
        assertThrows(IllegalStateException.class, () -> waiter.await(0));
        event.close();
        event.close();
        assertThrows(IllegalArgumentException.class, FdWaiter::new);
    }

    @Test
    void failuresReturnTheNegatedErrorNumber() {
        assertEquals(-Errno.EINVAL, Libc.mmap(0, 0, Libc.PROT_READ, Libc.MAP_PRIVATE | Libc.MAP_ANONYMOUS, -1, 0));
        assertTrue(NativeCall.isError(Libc.read(-1, 0, 1)));
        assertTrue(Libc.close(-1) > 0);
        assertTrue(Libc.setNonBlocking(-1) > 0);
    }

    @Test
    void mappedMemoryCanBeUsed() {
        long length = 1 << 16;
        long address = Libc.mmap(0, length, Libc.PROT_READ | Libc.PROT_WRITE, Libc.MAP_PRIVATE | Libc.MAP_ANONYMOUS,
                -1, 0);
        assertFalse(NativeCall.isError(address));
        NativeMemory.putLong(address + length - Long.BYTES, 0x0102030405060708L);
        NativeMemory.copy(address + length - Long.BYTES, address, Long.BYTES);
        assertEquals(0x0102030405060708L, NativeMemory.getLong(address));
        NativeMemory.fill(address, 4, (byte) -1);
        assertEquals(-1, NativeMemory.getInt(address));
        assertEquals(0x01020304, NativeMemory.getInt(address + 4));
        assertEquals(0, Libc.munmap(address, length));
    }

    @Test
    void missingLibraryReportsARemedy() {
        UnsatisfiedLinkError missing =
                assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.loadBundled("nosuchlibrary"));
        assertTrue(missing.getMessage().contains("META-INF/native/libnosuchlibrary_linux_"), missing.getMessage());
        assertTrue(missing.getMessage().contains("io.rdmaraw.nosuchlibrary.path"), missing.getMessage());
        System.setProperty("io.rdmaraw.nosuchlibrary.path", "/nonexistent/lib.so");
        try {
            UnsatisfiedLinkError wrong =
                    assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.loadBundled("nosuchlibrary"));
            assertTrue(wrong.getMessage().contains("/nonexistent/lib.so, which is not a file"), wrong.getMessage());
        } finally {
            System.clearProperty("io.rdmaraw.nosuchlibrary.path");
        }
        assertThrows(UnsatisfiedLinkError.class, () -> NativeLibrary.load("libnosuchlibrary.so.9"));
    }
}
