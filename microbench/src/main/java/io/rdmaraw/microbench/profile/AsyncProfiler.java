package io.rdmaraw.microbench.profile;

import com.sun.tools.attach.AgentInitializationException;
import com.sun.tools.attach.AgentLoadException;
import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;

/**
 * Runs async-profiler, an agent that records Java, native code and the kernel in one stack, including inlined methods.
 * The launcher downloads its jar from Maven Central, and the native library is an entry of that jar.
 */
final class AsyncProfiler implements Profiler {
    private static final String DIRECTORY = "microbench/target/profiler";
    private static final String LIBRARY = "linux-x64/libasyncProfiler.so";
    /** Options that limit the page to event loops. In these filters, class names contain slashes instead of dots. */
    private static final String LOOPS_ONLY = ",include=*" + Samples.LOOP + "*,exclude=*"
            + Samples.GENERATOR.replace('.', '*');

    private final Path library;

    private AsyncProfiler(Path library) {
        this.library = library;
    }

    /** Returns the profiler if the launcher has downloaded its jar. */
    static Optional<AsyncProfiler> find() {
        Path directory = Path.of(System.getProperty("rdmaraw.home", "."), DIRECTORY);
        if (!Files.isDirectory(directory)) {
            return Optional.empty();
        }
        try (Stream<Path> files = Files.list(directory)) {
            Optional<Path> jar = files.filter(file -> file.getFileName().toString().matches("async-profiler.*\\.jar"))
                    .sorted().findFirst();
            return jar.isPresent() ? Optional.of(new AsyncProfiler(unpack(jar.get()))) : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Path unpack(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            ZipEntry entry = file.getEntry(LIBRARY);
            if (entry == null) {
                throw new IOException(jar + " has no " + LIBRARY);
            }
            Path library = Files.createTempFile("libasyncProfiler", ".so");
            library.toFile().deleteOnExit();
            try (InputStream in = file.getInputStream(entry)) {
                Files.copy(in, library, StandardCopyOption.REPLACE_EXISTING);
            }
            return library;
        }
    }

    @Override
    public Samples sample(long pid, double seconds, String title, Path page) throws InterruptedException {
        Path stacks = null;
        try {
            stacks = Files.createTempFile("rdma-raw", ".collapsed");
            // The default unwinder cannot follow a critical downcall; cstack=vm can. If the hardware counters are
            // missing or not permitted, async-profiler falls back to timers of the process.
            tell(pid, "start,event=cpu,interval=1ms,cstack=vm");
            TimeUnit.NANOSECONDS.sleep((long) (seconds * 1e9));
            tell(pid, "dump,file=" + page.toAbsolutePath() + ",flamegraph,title="
                    + title.replace(',', ' ') + LOOPS_ONLY);
            tell(pid, "stop,file=" + stacks.toAbsolutePath() + ",collapsed,dot,ann,lib");
            try (Stream<String> lines = Files.lines(stacks)) {
                return Samples.ofCollapsed("async-profiler", lines).ofLoops();
            }
        } catch (IOException e) {
            throw new ToolException("cannot profile process " + pid + ": " + e.getMessage(), e);
        } finally {
            if (stacks != null) {
                stacks.toFile().delete();
            }
        }
    }

    private void tell(long pid, String what) throws IOException {
        try {
            VirtualMachine machine = VirtualMachine.attach(Long.toString(pid));
            try {
                machine.loadAgentPath(library.toString(), what);
            } finally {
                machine.detach();
            }
        } catch (AttachNotSupportedException e) {
            throw new ToolException("cannot attach to process " + pid + ": it must be a JVM of the same user on this"
                    + " host, and not run with -XX:+DisableAttachMechanism", e);
        } catch (AgentLoadException | AgentInitializationException e) {
            throw new IOException("async-profiler refused '" + what + "' (" + e.getMessage() + "); its own words are in"
                    + " the output of that process. --profiler jfr needs no native agent", e);
        }
    }
}
