package io.rdmaraw.ordering;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Loads the mlx5 ring classes a second time. The copies access memory through {@link WeakMemory}, and one of their
 * source files may be modified.
 */
final class RingClasses extends ClassLoader {
    private static final String RINGS = "io.rdmaraw.verbs.mlx5.";
    private static final Set<String> MEMORY = Set.of("io.rdmaraw.ffi.NativeMemory", "io.rdmaraw.ffi.NetworkOrder");
    private static final Path SOURCES = Path.of("src", "main", "java", "io", "rdmaraw", "verbs", "mlx5");
    private static final String MEMORY_SOURCE = "NativeMemory.txt";

    private final Path compiled;

    private RingClasses(Path compiled) {
        super(RingClasses.class.getClassLoader());
        this.compiled = compiled;
    }

    /** Returns the unmodified rings. Compiled classes are written to {@code directory}. */
    static RingClasses unchanged(Path directory) throws IOException {
        try (InputStream source = RingClasses.class.getResourceAsStream(MEMORY_SOURCE)) {
            compile(directory, "NativeMemory.java", new String(source.readAllBytes()));
        }
        return new RingClasses(directory);
    }

    /** Returns the rings with a planted bug. */
    static RingClasses of(RingMutant mutant, Path directory) throws IOException {
        String source = Files.readString(SOURCES.resolve(mutant.file() + ".java"));
        Matcher matcher = Pattern.compile(anyWhitespace(mutant.find())).matcher(source);
        if (!matcher.find()) {
            throw new AssertionError(mutant.file() + " no longer contains \"" + mutant.find()
                    + "\"; adapt the mutant \"" + mutant.name() + "\" to the new source");
        }
        compile(directory, mutant.file() + ".java",
                source.substring(0, matcher.start()) + mutant.replace() + source.substring(matcher.end()));
        return unchanged(directory);
    }

    private static String anyWhitespace(String text) {
        StringBuilder pattern = new StringBuilder();
        for (String word : text.strip().split("\\s+")) {
            pattern.append(pattern.isEmpty() ? "" : "\\s+").append(Pattern.quote(word));
        }
        return pattern.toString();
    }

    private static void compile(Path directory, String name, String source) throws IOException {
        Path file = Files.writeString(directory.resolve(name), source);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter messages = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            boolean done = compiler.getTask(messages, files, null, List.of("-d", directory.toString(), "-nowarn", "-cp",
                    System.getProperty("java.class.path")), null, files.getJavaFileObjects(file)).call();
            if (!done) {
                throw new AssertionError(name + " does not compile: " + messages);
            }
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(RINGS) && !MEMORY.contains(name)) {
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

    private byte[] bytesOf(String name) throws ClassNotFoundException {
        String path = name.replace('.', '/') + ".class";
        try {
            Path own = compiled.resolve(path);
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
            throw new ClassNotFoundException(name, e);
        }
    }
}
