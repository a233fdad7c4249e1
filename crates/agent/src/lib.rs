//! The library that a JVM loads with `-agentpath:libunsnarl_agent.so=session=DIR`.
//!
//! It rewrites the classes of the program when they are loaded and gives the runtime inside the JVM
//! memory to write events into. It prints nothing: what it has to say is in `agent.log` in the session's
//! folder. What goes wrong makes the agent do less, and never stops the program.

mod arena;
mod classpath_lookahead;
mod fields;
mod jvm;
mod session;
mod watch;
