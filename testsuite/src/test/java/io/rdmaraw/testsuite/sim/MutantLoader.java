package io.rdmaraw.testsuite.sim;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Loads a second copy of the core and the simulator, in which one source file of the core is changed. */
final class MutantLoader extends ClassLoader {
    private static final String CORE = "io.rdmaraw.tcp.";
    private static final String SIMULATOR = "io.rdmaraw.testsuite.sim.";
    private static final Path SOURCES = Path.of("..", "transport-rdma-raw", "src", "main", "java", "io",
            "rdmaraw", "tcp");

    static {
        registerAsParallelCapable();
    }

    private final Path changed;

    private MutantLoader(Path changed) {
        super(MutantLoader.class.getClassLoader());
        this.changed = changed;
    }

    /** Compiles the mutant into {@code directory} and returns its loader. */
    static MutantLoader of(Mutant mutant, Path directory) throws IOException {
        String source = Files.readString(SOURCES.resolve(mutant.file() + ".java"));
        for (Mutant.Change change : mutant.changes()) {
            Matcher matcher = Pattern.compile(anyWhitespace(change.find())).matcher(source);
            if (!matcher.find()) {
                throw new AssertionError("The core's " + mutant.file() + " no longer contains \"" + change.find()
                        + "\"; adapt the mutant \"" + mutant.name() + "\" to the new source");
            }
            source = source.substring(0, matcher.start()) + change.replace() + source.substring(matcher.end());
        }
        Path file = directory.resolve(Path.of(mutant.file() + ".java").getFileName());
        Files.writeString(file, source);
        compile(file, directory);
        return new MutantLoader(directory);
    }

    private static String anyWhitespace(String text) {
        StringBuilder pattern = new StringBuilder();
        for (String word : text.strip().split("\\s+")) {
            pattern.append(pattern.isEmpty() ? "" : "\\s+").append(Pattern.quote(word));
        }
        return pattern.toString();
    }

    private static void compile(Path file, Path directory) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean done = compiler.getTask(messages, files, null, List.of("-d", directory.toString(), "-nowarn", "-cp",
                    System.getProperty("java.class.path")), null, files.getJavaFileObjects(file)).call();
            if (!done) {
                throw new AssertionError("The mutant of " + file.getFileName() + " does not compile: " + messages);
            }
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(CORE) && !name.startsWith(SIMULATOR)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                byte[] bytes = bytesOf(name);
                loaded = defineClass(name, bytes, 0, bytes.length);
            }
            return loaded;
        }
    }

    /** Provides the changed classes to loaders on top of this one. */
    @Override
    public InputStream getResourceAsStream(String path) {
        try {
            Path own = changed.resolve(path);
            return Files.exists(own) ? Files.newInputStream(own) : super.getResourceAsStream(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] bytesOf(String name) throws ClassNotFoundException {
        String path = name.replace('.', '/') + ".class";
        try {
            Path own = changed.resolve(path);
            if (Files.exists(own)) {
                return Files.readAllBytes(own);
            }
            try (InputStream in = getParent().getResourceAsStream(path)) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                return in.readAllBytes();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
